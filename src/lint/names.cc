#include "lint/names.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/text.h"

namespace tessera::lint {
namespace {

bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool IsIdentifier(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  if (text.empty() || text.size() > kLongest || std::isdigit(static_cast<unsigned char>(text.front())) != 0)
    return false;
  return std::ranges::all_of(text, [](char c) { return IsAlphanumeric(c) || c == '_'; });
}

}  // namespace

bool IsDnsLabel(std::string_view text) { return IsDnsSubdomain(text, 63) && !text.contains('.'); }

bool IsPoolName(std::string_view text) {
  return text.size() <= 253 && std::ranges::all_of(Split(text, '/'), [](auto part) { return IsDnsSubdomain(part); });
}

bool IsDriverName(std::string_view text) { return IsDnsSubdomain(Lower(text), 63); }

bool IsFullyQualifiedName(std::string_view text) {
  const auto parts = Cut(text, "/");
  return parts && IsDriverName(parts->first) && IsIdentifier(parts->second);
}

bool IsQualifiedName(std::string_view text) { return IsIdentifier(text) || IsFullyQualifiedName(text); }

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() > 63 || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) return false;
  return std::ranges::all_of(text, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsLabelKey(std::string_view text) {
  const auto parts = Cut(text, "/");
  const std::string_view name = parts ? parts->second : text;
  return (!parts || IsDnsSubdomain(parts->first)) && !name.empty() && IsLabelValue(name);
}

bool IsExtendedResource(std::string_view text) {
  const auto parts = Cut(text, "/");
  if (!parts || parts->first == "kubernetes.io" || parts->first.ends_with(".kubernetes.io")) return false;
  return !text.starts_with("requests.") && IsLabelKey(text);
}

}  // namespace tessera::lint
