#include "json/decode.h"

#include <algorithm>
#include <span>

namespace tessera::json {

std::string Path::ToString() const {
  const std::string before = parent == nullptr ? std::string() : parent->ToString();
  switch (step) {
    case Step::kTop:
      return std::string(key);
    case Step::kField:
      return before.empty() ? std::string(key) : Format("{}.{}", before, key);
    case Step::kKey:
      return Format("{}[{}]", before, Quote(key));
    case Step::kIndex:
      return Format("{}[{}]", before, index);
  }
  std::unreachable();
}

void Problems::Add(const Path& path, std::string_view what) {
  constexpr std::size_t kEnough = 20;  // A person fixes a screenful; a fuzzer finds thousands.
  if (found_.size() == kEnough) found_.emplace_back("and more");
  if (found_.size() > kEnough) return;
  const std::string where = path.ToString();
  found_.push_back(where.empty() ? std::string(what) : Format("{}: {}", where, what));
}

Error Problems::AsError() const { return Error(ErrorKind::kPermanentConfig, "BadField", Join(found_, "; ")); }

const Value* Reader::Take(std::string_view key) {
  if (known_count_ == known_.size()) Abort("a struct has more fields than json::Reader remembers");
  known_[known_count_++] = key;
  const Value* value = object_.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void Reader::Finish() {
  if (unknown_ == Unknown::kIgnore) return;
  const std::span known(known_.data(), known_count_);
  for (const auto& item : object_) {
    const std::string_view key = item.key();
    if (std::ranges::find(known, key) != known.end()) continue;
    const auto near = NearMatch(key, known);
    problems_.Add(Field(Clip(key, 60)), near ? Format("unknown field; did you mean \"{}\"?", *near) : "unknown field");
  }
}

}  // namespace tessera::json
