#include "tests/standin/store.h"

#include <algorithm>

#include "base/error.h"

namespace tessera::standin {
namespace {

bool Belongs(const Key& collection, const Key& key) {
  return key.group == collection.group && key.resource == collection.resource &&
         (collection.ns.empty() || key.ns == collection.ns);
}

// Kind and apiVersion first, as the API server prints them, and `version` in the metadata.
ObjectRef Freeze(const Key& key, const json::Value& value, std::uint64_t version) {
  auto stored = std::make_shared<Stored>();
  stored->key = key;
  stored->version = version;
  json::Object object;
  for (const std::string_view first : {"kind", "apiVersion"}) {
    if (const json::Value* found = value.as_object().if_contains(first)) object.emplace(first, *found);
  }
  stored->rest_at = json::PrintJson(object).size();
  for (const auto& item : value.as_object()) object.emplace(item.key(), item.value());
  object["metadata"].as_object()["resourceVersion"] = std::to_string(version);
  stored->value = std::move(object);
  stored->text = json::PrintJson(stored->value);
  return stored;
}

}  // namespace

ObjectRef Store::Find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

Store::Listing Store::ListNow(const Key& collection) const {
  Listing listing{.version = version_};
  for (auto it = objects_.lower_bound(collection); it != objects_.end() && Belongs(collection, it->first); ++it) {
    listing.items.push_back(it->second);
  }
  return listing;
}

std::optional<Store::Listing> Store::List(const Key& collection, std::uint64_t version) const {
  const std::lock_guard lock(mutex_);
  Listing now = ListNow(collection);
  if (version == 0 || version == version_) return now;
  if (version < forgotten_ || version > version_) return std::nullopt;
  // Take back what happened since.
  std::map<Key, ObjectRef> then;
  for (ObjectRef& item : now.items) then.emplace(item->key, item);
  for (auto event = history_.rbegin(); event != history_.rend() && event->version > version; ++event) {
    const Key& key = (event->before ? event->before : event->after)->key;
    if (!Belongs(collection, key)) continue;
    if (event->before) {
      then[key] = event->before;
    } else {
      then.erase(key);
    }
  }
  Listing listing{.version = version};
  for (auto& [key, item] : then) listing.items.push_back(std::move(item));
  return listing;
}

ObjectRef Store::Put(const Key& key, json::Value value) {
  ObjectRef stored;
  {
    const std::lock_guard lock(mutex_);
    stored = Freeze(key, value, ++version_);
    ObjectRef& place = objects_[key];
    Record({version_, place, stored});
    place = stored;
  }
  changed_.notify_all();
  return stored;
}

ObjectRef Store::Remove(const Key& key) {
  ObjectRef last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) Abort("removing an object that is not stored: " + key.name);
    last = Freeze(key, found->second->value, ++version_);
    Record({version_, found->second, nullptr});
    objects_.erase(found);
  }
  changed_.notify_all();
  return last;
}

void Store::Record(Event event) {
  history_.push_back(std::move(event));
  Trim();
}

void Store::Trim() {
  while (history_.size() > history_limit_) {
    forgotten_ = history_.front().version;
    history_.pop_front();
  }
}

Store::News Store::Wait(const Key& collection, std::uint64_t version, std::uint64_t epoch, const std::stop_token& stop,
                        Deadline deadline) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, stop, deadline, [&] { return version_ > version || epoch_ != epoch; });
  News news{.version = version_, .expired = version < forgotten_, .ended = epoch_ != epoch};
  if (news.expired) return news;
  auto event = std::ranges::upper_bound(history_, version, {}, &Event::version);
  for (; event != history_.end(); ++event) {
    if (Belongs(collection, (event->before ? event->before : event->after)->key)) news.events.push_back(*event);
  }
  return news;
}

std::uint64_t Store::epoch() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

void Store::EndWatches() {
  {
    const std::lock_guard lock(mutex_);
    ++epoch_;
  }
  changed_.notify_all();
}

std::uint64_t Store::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

void Store::SetHistory(std::size_t events) {
  const std::lock_guard lock(mutex_);
  history_limit_ = events;
  Trim();
}

void Store::ForgetHistory() {
  {
    const std::lock_guard lock(mutex_);
    history_.clear();
    forgotten_ = ++version_;
  }
  changed_.notify_all();
}

bool Store::WaitUntil(const Key& collection, const std::function<bool(const std::vector<json::Value>& items)>& holds,
                      Deadline deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] {
    std::vector<json::Value> items;
    for (const ObjectRef& item : ListNow(collection).items) items.push_back(item->value);
    return holds(items);
  });
}

}  // namespace tessera::standin
