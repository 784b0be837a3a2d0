// cel/context.h: what a function may use while an expression is evaluated.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/arena.h"
#include "cel/value.h"

namespace re2 {
class RE2;
}

namespace tessera::cel {

// Regular expressions whose pattern stands in the expression, compiled once. Found by where the pattern lies in memory.
class PatternSet {
 public:
  PatternSet();
  ~PatternSet();
  PatternSet(PatternSet&&) noexcept;
  PatternSet& operator=(PatternSet&&) noexcept;

  // An invalid pattern is left out: the call that uses it fails when it is evaluated.
  void Add(std::string_view pattern);
  const re2::RE2* Find(std::string_view pattern) const;

 private:
  struct Compiled;
  std::vector<Compiled> compiled_;
};

class Context {
 public:
  Context(Arena& memory, const PatternSet& patterns);
  ~Context();

  Value Error(std::string_view message) { return Value::Error(arena.Copy(message)); }
  Value Text(std::string_view text) { return Value::String(arena.Copy(text)); }
  Value Some(const Value& content) { return Value::Some(arena.Own(content)); }
  Value List(std::span<const Value> items);

  // Never null; ok() says whether the pattern is one. Valid until the next call.
  const re2::RE2* Regex(std::string_view pattern);

  Arena& arena;

 private:
  const PatternSet& patterns_;
  std::unique_ptr<re2::RE2> last_regex_;  // Of a pattern that was not known before.
};

}  // namespace tessera::cel
