// base/text.h: small things done to text: format, split, trim, compare for near misses.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

using fmt::format_to;

// fmt::format under our own name: g++ 12 has no std::format, and this is the one line to change when it does.
template <class... Args>
std::string Format(fmt::format_string<Args...> pattern, Args&&... args) {
  return fmt::format(pattern, std::forward<Args>(args)...);
}

// "a,b,,c" at ',' gives a, b, "", c. Empty text gives one empty part.
std::vector<std::string_view> Split(std::string_view text, char separator);

// The text up to `separator` and what follows it, or nothing when it does not occur.
std::optional<std::pair<std::string_view, std::string_view>> Cut(std::string_view text, std::string_view separator);

std::string_view Trim(std::string_view text);  // Spaces, tabs, line ends.
std::string Lower(std::string_view text);      // ASCII only.
std::string Join(std::span<const std::string> parts, std::string_view separator);
std::string Counted(std::size_t count, std::string_view noun);  // "1 node", "5 nodes".

// The longest prefix of at most `limit` bytes that does not cut a UTF-8 character in two.
std::string_view Clip(std::string_view text, std::size_t limit);

// Whether Kubernetes takes it as the name of a node: DNS labels of lower-case letters, digits and dashes, joined by dots.
bool IsDnsSubdomain(std::string_view text, std::size_t limit = 253);

// `text` in double quotes with quotes, backslashes and control characters escaped: safe for one log line.
std::string Quote(std::string_view text);

// The whole of `text` as a number in `base`, or nothing: no sign tricks, no trailing characters.
template <std::integral Number>
std::optional<Number> ParseNumber(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// The candidate a person probably meant by `text`, or nothing when none is near.
std::optional<std::string_view> NearMatch(std::string_view text, std::span<const std::string_view> candidates);

}  // namespace tessera
