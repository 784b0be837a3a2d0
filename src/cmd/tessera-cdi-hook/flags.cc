#include "cmd/tessera-cdi-hook/flags.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::hook {

Result<void> ParseFlags(Arguments arguments, std::initializer_list<Flag> flags) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto cut = Cut(arguments[i], "=");
    const std::string_view name = cut ? cut->first : arguments[i];
    const auto* const flag = std::ranges::find(flags, name, &Flag::name);
    if (flag == flags.end()) return BadConfig("BadArgument", Format("unknown argument {}", Quote(arguments[i])));
    if (!cut && i + 1 == arguments.size()) return BadConfig("BadArgument", Format("{} needs a value", name));
    const std::string_view value = cut ? cut->second : arguments[++i];
    if (flag->all != nullptr) flag->all->emplace_back(value);
    if (flag->last != nullptr) *flag->last = value;
  }
  return {};
}

}  // namespace tessera::hook
