// flags.h: the flags of one hook, as nvidia-cdi-hook takes them: --name value or --name=value, repeated at will.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::hook {

using Arguments = std::span<const std::string_view>;

struct Flag {
  std::string_view name;                    // "--folder"
  std::vector<std::string>* all = nullptr;  // Every value, in order …
  std::string* last = nullptr;              // … or the last one.
};

// Anything that is not one of `flags` is an error: a spec that asks for more than this program does must not start.
Result<void> ParseFlags(Arguments arguments, std::initializer_list<Flag> flags);

}  // namespace tessera::hook
