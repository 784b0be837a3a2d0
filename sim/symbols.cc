#include "sim/symbols.h"

#include "base/text.h"

namespace tessera::sim {
namespace {

constexpr Symbol kSymbols[] = {
#define NVML_SYMBOL(name, since) {#name, since},
#include "sim/symbols.inc"
#undef NVML_SYMBOL
};

}  // namespace

std::span<const Symbol> AllSymbols() { return kSymbols; }

unsigned HeaderRank(std::string_view header) {
  const auto parts = Cut(header, ".");
  const auto major = ParseNumber<unsigned>(parts ? parts->first : header);
  const auto minor = parts ? ParseNumber<unsigned>(parts->second) : 0;
  return major.value_or(0) * 100 + minor.value_or(0);
}

std::vector<std::string> SymbolsAfter(std::string_view header) {
  std::vector<std::string> names;
  for (const Symbol& symbol : kSymbols) {
    if (HeaderRank(symbol.since) > HeaderRank(header)) names.emplace_back(symbol.name);
  }
  return names;
}

}  // namespace tessera::sim
