#include "cel/context.h"

#include <algorithm>
#include <vector>

#include "cel/regex.h"

namespace tessera::cel {

struct PatternSet::Compiled {
  std::string_view pattern;
  std::unique_ptr<re2::RE2> regex;
};

PatternSet::PatternSet() = default;
PatternSet::~PatternSet() = default;
PatternSet::PatternSet(PatternSet&&) noexcept = default;
PatternSet& PatternSet::operator=(PatternSet&&) noexcept = default;

void PatternSet::Add(std::string_view pattern) {
  auto regex = CompileRegex(pattern);
  if (regex->ok()) compiled_.push_back({pattern, std::move(regex)});
}

const re2::RE2* PatternSet::Find(std::string_view pattern) const {
  const auto found = std::ranges::find_if(compiled_, [&](const Compiled& c) {
    return c.pattern.data() == pattern.data() && c.pattern.size() == pattern.size();
  });
  return found == compiled_.end() ? nullptr : found->regex.get();
}

Context::Context(Arena& memory, const PatternSet& patterns) : arena(memory), patterns_(patterns) {}
Context::~Context() = default;

Value Context::List(std::span<const Value> items) {
  const std::span<Value> room = arena.Room<Value>(items.size());
  std::ranges::copy(items, room.begin());
  return Value::List(room);
}

const re2::RE2* Context::Regex(std::string_view pattern) {
  if (const re2::RE2* compiled = patterns_.Find(pattern)) return compiled;
  if (last_regex_ == nullptr || last_regex_->pattern() != pattern) last_regex_ = CompileRegex(pattern);
  return last_regex_.get();
}

}  // namespace tessera::cel
