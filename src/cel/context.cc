#include "cel/context.h"

#include <re2/re2.h>

#include <algorithm>
#include <vector>

namespace tessera::cel {
namespace {

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct PatternSet::Compiled {
  std::string_view pattern;
  std::unique_ptr<re2::RE2> regex;
};

PatternSet::PatternSet() = default;
PatternSet::~PatternSet() = default;
PatternSet::PatternSet(PatternSet&&) noexcept = default;
PatternSet& PatternSet::operator=(PatternSet&&) noexcept = default;

void PatternSet::Add(std::string_view pattern) {
  auto regex = std::make_unique<re2::RE2>(Piece(pattern), re2::RE2::Quiet);
  if (regex->ok()) compiled_.push_back({pattern, std::move(regex)});
}

const re2::RE2* PatternSet::Find(std::string_view pattern) const {
  const auto found = std::ranges::find_if(compiled_, [&](const Compiled& c) {
    return c.pattern.data() == pattern.data() && c.pattern.size() == pattern.size();
  });
  return found == compiled_.end() ? nullptr : found->regex.get();
}

Value Context::List(std::span<const Value> items) {
  const std::span<Value> room = arena.Room<Value>(items.size());
  std::ranges::copy(items, room.begin());
  return Value::List(room);
}

const re2::RE2* Context::Regex(std::string_view pattern) {
  if (const re2::RE2* compiled = patterns_.Find(pattern)) return compiled;
  const auto* owner = arena.Own(std::make_unique<re2::RE2>(Piece(pattern), re2::RE2::Quiet));
  return owner->get();
}

}  // namespace tessera::cel
