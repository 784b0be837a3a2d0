#include "json/decode.h"

#include <algorithm>

namespace tessera::json {

void Problems::Add(std::string_view path, std::string_view what) {
  constexpr std::size_t kEnough = 20;  // A person fixes a screenful; a fuzzer finds thousands.
  if (found_.size() == kEnough) found_.emplace_back("and more");
  if (found_.size() > kEnough) return;
  found_.push_back(path.empty() ? std::string(what) : Format("{}: {}", path, what));
}

Error Problems::AsError() const { return Error(ErrorKind::kPermanentConfig, "BadField", Join(found_, "; ")); }

const Value* Reader::Take(std::string_view key) {
  known_.push_back(key);
  const Value* value = object_.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string Reader::ChildPath(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
}

void Reader::Finish() {
  if (unknown_ == Unknown::kIgnore) return;
  for (const auto& item : object_) {
    const std::string_view key = item.key();
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const auto near = NearMatch(key, known_);
    problems_.Add(ChildPath(Clip(key, 60)),
                  near ? Format("unknown field; did you mean \"{}\"?", *near) : "unknown field");
  }
}

}  // namespace tessera::json
