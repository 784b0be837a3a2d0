#include "base/text.h"
#include "cmd/tessera-cdi-hook/hooks.h"
#include "cmd/tessera-cdi-hook/state.h"

namespace tessera::hook {

Result<void> CreateSymlinks(Arguments arguments) {
  std::vector<std::string> links;
  TESSERA_TRY(ParseFlags(arguments, {{.name = "--link", .all = &links}}));
  if (links.empty()) return {};
  TESSERA_ASSIGN(const ContainerRoot root, WritableRootFromState());
  for (const std::string& link : links) {
    const auto parts = Cut(link, "::");
    if (!parts || parts->first.empty() || parts->second.empty() || Cut(parts->second, "::")) {
      return BadConfig("BadArgument", Format("--link {} is not TARGET::LINK", Quote(link)));
    }
    TESSERA_TRY(root.PutLink(std::string(parts->second), std::string(parts->first)));
  }
  return {};
}

}  // namespace tessera::hook
