// sim/symbols.h: every function the public NVML headers declare, and the header that first did.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::sim {

struct Symbol {
  std::string_view name;
  std::string_view since;  // "11.0" also stands for earlier.
};

std::span<const Symbol> AllSymbols();

// "12.4" as 1204, so that 11.8 < 12.0 < 12.10.
unsigned HeaderRank(std::string_view header);

// The names that a library of this header ("12.4") does not have yet.
std::vector<std::string> SymbolsAfter(std::string_view header);

}  // namespace tessera::sim
