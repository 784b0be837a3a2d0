#include "journal/go_names.h"

#include "base/text.h"

namespace tessera::journal {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "1c2g10gb-me" was "1c.2g.10gb+me" before it had to be a DNS label.
std::string ProfileFrom(std::string_view label) {
  std::string profile;
  for (std::size_t i = 0; i < label.size(); ++i) {
    profile += label[i] == '-' ? '+' : label[i];
    const bool ends_count = (label[i] == 'g' || label[i] == 'c') && i > 0 && IsDigit(label[i - 1]);
    if (ends_count && i + 1 < label.size() && IsDigit(label[i + 1])) profile += '.';
  }
  return profile;
}

std::optional<GoDeviceName> ParseMig(unsigned minor, std::string_view rest) {
  const auto parts = Split(rest, '-');
  if (parts.size() < 3) return std::nullopt;
  const auto before_last = ParseNumber<unsigned>(parts[parts.size() - 2]);
  const auto last = ParseNumber<unsigned>(parts.back());
  if (!before_last || !last) return std::nullopt;
  if (parts.size() == 3 && ParseNumber<unsigned>(parts[0])) return GoDeviceName{minor, true, "", *before_last, *last};
  const std::size_t tail = parts[parts.size() - 2].size() + parts.back().size() + 2;
  return GoDeviceName{minor, true, ProfileFrom(rest.substr(0, rest.size() - tail)), *last, 0};
}

}  // namespace

std::optional<GoDeviceName> ParseGoDeviceName(std::string_view name) {
  if (!name.starts_with("gpu-")) return std::nullopt;
  name.remove_prefix(4);
  const auto mig = Cut(name, "-mig-");
  const auto minor = ParseNumber<unsigned>(mig ? mig->first : name);
  if (!minor) return std::nullopt;
  return mig ? ParseMig(*minor, mig->second) : GoDeviceName{*minor, false, "", 0, 0};
}

}  // namespace tessera::journal
