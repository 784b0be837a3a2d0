#include "tests/standin/api.h"

#include <algorithm>
#include <array>
#include <exception>

#include "base/text.h"
#include "tests/standin/convert.h"
#include "tests/standin/status.h"

namespace tessera::standin {
namespace {

constexpr std::array<std::string_view, 4> kResources{"deviceclasses", "resourceclaims", "resourceclaimtemplates",
                                                     "resourceslices"};

Answer Json(const json::Value& value) { return {.body = json::PrintJson(value)}; }

json::Object GroupVersion(std::string_view version) {
  return {{"groupVersion", Format("{}/{}", kResourceGroup, version)}, {"version", version}};
}

json::Object ResourceGroup(const std::vector<std::string>& versions) {
  json::Array list;
  for (const std::string& version : versions) list.push_back(GroupVersion(version));
  return {{"kind", "APIGroup"},
          {"apiVersion", "v1"},
          {"name", kResourceGroup},
          {"versions", std::move(list)},
          {"preferredVersion", GroupVersion(versions.front())}};
}

json::Object ResourceList(std::string_view version) {
  json::Array list;
  for (const std::string_view resource : kResources) {
    const bool namespaced = resource.starts_with("resourceclaim");
    list.push_back({{"name", resource}, {"namespaced", namespaced}, {"kind", KindOf(resource)}});
  }
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", Format("{}/{}", kResourceGroup, version)},
          {"resources", std::move(list)}};
}

// The object as lists show it: without kind and apiVersion.
std::string ShownInList(const Target& target, const Stored& object) {
  if (target.key.group != kResourceGroup || target.version == "v1") return "{" + object.text.substr(object.rest_at);
  json::Value value = FromStored(target.key.resource, target.version, object.value);
  value.as_object().erase("kind");
  value.as_object().erase("apiVersion");
  return json::PrintJson(value);
}

// A place in a list: "<version>~<namespace>~<name>", the last that was shown.
struct Place {
  std::uint64_t version = 0;
  std::string ns, name;
};

std::optional<Place> ParsePlace(std::string_view token) {
  const std::vector<std::string_view> parts = Split(token, '~');
  const auto version = ParseNumber<std::uint64_t>(parts[0]);
  if (parts.size() != 3 || !version) return std::nullopt;
  return Place{*version, std::string(parts[1]), std::string(parts[2])};
}

}  // namespace

std::string Shown(const Target& target, const Stored& object) {
  if (target.key.group != kResourceGroup || target.version == "v1") return object.text;
  return json::PrintJson(FromStored(target.key.resource, target.version, object.value));
}

Answer Api::Handle(const Request& request, Caller caller) {
  try {
    return Route(request, caller);
  } catch (const std::exception& failure) {  // Of Boost.JSON, on a shape nobody expected; of a hook.
    return Refuse(500, failure.what());
  }
}

Answer Api::Route(const Request& request, Caller caller) {
  const std::optional<Target> target = ParseTarget(request.path);
  if (!target) return Discover(request.path);
  if (caller == Caller::kClient && !Serves(*target)) return NoSuchPage();
  if (!target->subresource.empty() && target->subresource != "status") return NoSuchPage();
  const bool collection = target->is_collection();
  if (request.method == "GET") return collection ? List(*target, request) : Get(*target);
  if (request.method == "POST" && collection) return Create(*target, request, caller);
  if (request.method == "PUT" && !collection) return Replace(*target, request, caller);
  if (request.method == "PATCH" && !collection) return Patch(*target, request, caller);
  if (request.method == "DELETE") return collection ? DeleteCollection(*target, request) : Delete(*target, request);
  return Refuse(405, "the server does not allow this method on the requested resource", target->key);
}

bool Api::Serves(const Target& target) const {
  if (target.key.group.empty()) return target.version == "v1";
  if (target.key.group != kResourceGroup) return true;
  const std::lock_guard lock(mutex_);
  return std::ranges::find(versions_, target.version) != versions_.end();
}

Answer Api::Discover(std::string_view path) const {
  if (path == "/healthz" || path == "/readyz" || path == "/livez") return {.body = "ok", .content_type = "text/plain"};
  if (path == "/api") return Json({{"kind", "APIVersions"}, {"versions", json::Array{"v1"}}});
  const std::lock_guard lock(mutex_);
  if (path == "/version") return Version();
  if (path == "/metrics" && !gates_.empty()) return Metrics();
  if (versions_.empty()) return NoSuchPage();
  if (path == "/apis") {
    return Json({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", json::Array{ResourceGroup(versions_)}}});
  }
  const std::string group = Format("/apis/{}", kResourceGroup);
  if (path == group) return Json(ResourceGroup(versions_));
  for (const std::string& version : versions_) {
    if (path == group + "/" + version) return Json(ResourceList(version));
  }
  return NoSuchPage();
}

Answer Api::Version() const {
  const auto parts = Split(std::string_view(release_).substr(1), '.');
  return Json({{"major", std::string(parts.at(0))},
               {"minor", std::string(parts.at(1))},
               {"gitVersion", release_},
               {"platform", "linux/amd64"}});
}

Answer Api::Metrics() const {
  std::string text = "# TYPE kubernetes_feature_enabled gauge\n";
  for (const auto& [gate, on] : gates_) {
    text += Format("kubernetes_feature_enabled{{name=\"{}\",stage=\"BETA\"}} {}\n", gate, on ? 1 : 0);
  }
  return {.body = text + "process_open_fds 12\n", .content_type = "text/plain; version=0.0.4"};
}

Answer Api::Get(const Target& target) const {
  const ObjectRef object = store_.Find(target.key);
  return object ? Answer{.body = Shown(target, *object)} : NotFound(target.key);
}

Answer Api::List(const Target& target, const Request& request) const {
  const auto selector = FieldSelector::Parse(request.parameter("fieldSelector"));
  if (!selector) return Refuse(400, selector.error());
  const std::string_view token = request.parameter("continue");
  const std::optional<Place> place = token.empty() ? Place{} : ParsePlace(token);
  if (!place) return Refuse(400, "continue key is not valid");
  const auto listing = store_.List(target.key, place->version);
  if (!listing) return ContinueTooOld();
  const auto limit = ParseNumber<std::size_t>(request.parameter("limit")).value_or(0);

  std::string items;
  std::string next;
  std::size_t shown = 0;
  const Stored* last = nullptr;
  for (const ObjectRef& item : listing->items) {
    const bool past = std::tie(item->key.ns, item->key.name) > std::tie(place->ns, place->name);
    if (!past || !selector->Matches(item->value)) continue;
    if (limit != 0 && shown == limit) {
      next = Format("{}~{}~{}", listing->version, last->key.ns, last->key.name);
      break;
    }
    if (shown++ > 0) items += ',';
    items += ShownInList(target, *item);
    last = item.get();
  }
  json::Object metadata{{"resourceVersion", std::to_string(listing->version)}};
  if (!next.empty()) metadata.emplace("continue", next);
  return {.body = Format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":[{}]}})",
                         KindOf(target.key.resource), target.api_version(), json::PrintJson(metadata), items)};
}

bool Api::IsWatch(const Request& request) {
  const std::string_view watch = request.parameter("watch");
  return request.method == "GET" && (watch == "true" || watch == "1");
}

std::expected<WatchPlan, Answer> Api::PlanWatch(const Request& request) {
  const std::optional<Target> target = ParseTarget(request.path);
  if (!target || !Serves(*target)) return std::unexpected(NoSuchPage());
  const auto selector = FieldSelector::Parse(request.parameter("fieldSelector"));
  if (!selector) return std::unexpected(Refuse(400, selector.error()));
  const std::string_view from = request.parameter("resourceVersion");
  const auto version = ParseNumber<std::uint64_t>(from.empty() ? "0" : from);
  if (!version) return std::unexpected(Refuse(400, Format("invalid resource version: {}", Quote(from))));

  WatchPlan plan{.target = *target,
                 .selector = *selector,
                 .version = *version,
                 .bookmarks = request.parameter("allowWatchBookmarks") == "true",
                 .timeout = std::chrono::seconds(ParseNumber<int>(request.parameter("timeoutSeconds")).value_or(0))};
  if (*version == 0) {  // "Any version": what there is comes first.
    Store::Listing now = *store_.List(target->key);
    std::erase_if(now.items, [&](const ObjectRef& item) { return !selector->Matches(item->value); });
    plan.initial = std::move(now.items);
    plan.version = now.version;
  }
  return plan;
}

void Api::SetVersions(std::vector<std::string> versions) {
  const std::lock_guard lock(mutex_);
  versions_ = std::move(versions);
}

void Api::SetRelease(std::string version, std::map<std::string, bool> gates) {
  const std::lock_guard lock(mutex_);
  release_ = std::move(version);
  gates_ = std::move(gates);
}

void Api::SetWriteHook(WriteHook hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

}  // namespace tessera::standin
