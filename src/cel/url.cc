// URLs, by the rules of Go's url.ParseRequestURI, which Kubernetes uses: an absolute URI or an absolute path.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cel/network.h"

namespace tessera::cel {
namespace {

bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::unexpected<std::string> Bad(std::string_view text, std::string_view why) {
  return std::unexpected(Format("parse {}: {}", Quote(text), why));
}

// "%41" decoded at the front of the text, when it is one.
std::optional<char> EscapedByte(std::string_view text) {
  const auto number =
      text.size() >= 3 && text[0] == '%' ? ParseNumber<std::uint8_t>(text.substr(1, 2), 16) : std::nullopt;
  return number ? std::optional(static_cast<char>(*number)) : std::nullopt;
}

std::optional<std::string> Unescape(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const auto byte = EscapedByte(text.substr(i));
      if (!byte) return std::nullopt;
      out.push_back(*byte);
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

// What may stand in a path as it is; everything else is escaped.
bool IsPathCharacter(char c) {
  return IsAlpha(c) || IsDigit(c) || std::string_view("-_.~$&+,/:;=@!'()*[]%").contains(c);
}

std::string EscapePath(std::string_view path) {
  std::string out;
  for (const char c : path) {
    out += IsPathCharacter(c) ? std::string(1, c) : Format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// Cuts "scheme:" from the front; nothing is cut when there is none.
std::optional<std::string> TakeScheme(std::string_view& rest) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (IsAlpha(c) || (i > 0 && (IsDigit(c) || std::string_view("+-.").contains(c)))) continue;
    if (c != ':') return "";
    if (i == 0) return std::nullopt;
    std::string scheme = Lower(rest.substr(0, i));
    rest.remove_prefix(i + 1);
    return scheme;
  }
  return "";
}

// Where the port's colon is; the end when there is none.
std::size_t PortColon(std::string_view host) {
  const std::size_t bracket = host.starts_with('[') ? host.rfind(']') : std::string_view::npos;
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) return host.size();
  return colon;
}

bool IsHost(std::string_view host) {
  if (host.starts_with('[') && !host.contains(']')) return false;
  const std::string_view port = host.substr(std::min(PortColon(host) + 1, host.size()));
  if (!std::ranges::all_of(port, IsDigit)) return false;
  return host.find_first_of(" <>\"\\^`{|}") == std::string_view::npos && Unescape(host, false).has_value();
}

}  // namespace

std::expected<Url, std::string> Url::Parse(std::string_view text) {
  if (text.empty()) return Bad(text, "empty url");
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; })) {
    return Bad(text, "net/url: invalid control character in URL");
  }
  std::string_view rest = text;
  Url url;
  auto scheme = TakeScheme(rest);
  if (!scheme) return Bad(text, "missing protocol scheme");
  url.scheme = *std::move(scheme);
  if (const auto parts = Cut(rest, "?")) {
    url.query = parts->second;
    rest = parts->first;
  }
  if (!rest.starts_with('/')) {
    if (url.scheme.empty()) return Bad(text, "invalid URI for request");
    return url;  // "mailto:someone" has neither host nor path.
  }
  if (rest.starts_with("//") && (!url.scheme.empty() || !rest.starts_with("///"))) {
    rest.remove_prefix(2);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view authority = rest.substr(0, slash);
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos) url.user = authority.substr(0, at + 1);
    url.host = authority.substr(at == std::string_view::npos ? 0 : at + 1);
    if (!IsHost(url.host)) return Bad(text, "invalid host or port");
    url.has_authority = true;
    rest.remove_prefix(slash);
  }
  if (!Unescape(rest, false)) return Bad(text, "invalid URL escape");
  url.path = EscapePath(rest);
  return url;
}

std::string Url::Hostname() const {
  std::string_view name = std::string_view(host).substr(0, PortColon(host));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

std::string Url::Port() const { return host.substr(std::min(PortColon(host) + 1, host.size())); }

std::vector<std::pair<std::string, std::vector<std::string>>> Url::Query() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> pairs;
  for (const std::string_view part : Split(query, '&')) {
    const auto halves = Cut(part, "=");
    auto key = Unescape(halves ? halves->first : part, true);
    auto value = Unescape(halves ? halves->second : std::string_view(), true);
    if (part.empty() || part.contains(';') || !key || !value) continue;
    auto found = std::ranges::find(pairs, *key, [](const auto& pair) { return pair.first; });
    if (found == pairs.end()) found = pairs.insert(pairs.end(), {*std::move(key), {}});
    found->second.push_back(*std::move(value));
  }
  return pairs;
}

std::string Url::ToString() const {
  return Format("{}{}{}{}{}{}{}{}", scheme, scheme.empty() ? "" : ":", has_authority ? "//" : "", user, host, path,
                query.empty() ? "" : "?", query);
}

}  // namespace tessera::cel
