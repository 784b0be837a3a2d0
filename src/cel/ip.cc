// IP addresses and CIDR blocks.
#include <algorithm>
#include <bit>

#include "base/text.h"
#include "cel/network.h"

namespace tessera::cel {
namespace {

using Address = std::expected<IpAddress, std::string>;

std::unexpected<std::string> Bad(std::string_view text, std::string_view why) {
  return std::unexpected(Format("ParseAddr({}): {}", Quote(text), why));
}

Address ParseV4(std::string_view text, std::string_view whole) {
  const auto parts = Split(text, '.');
  if (parts.size() != 4) return Bad(whole, parts.size() < 4 ? "IPv4 address too short" : "IPv4 address too long");
  IpAddress ip;
  for (std::size_t i = 0; i < 4; ++i) {
    if (parts[i].empty()) return Bad(whole, "IPv4 field must have at least one digit");
    if (parts[i].size() > 1 && parts[i].starts_with('0')) return Bad(whole, "IPv4 field has octet with leading zero");
    if (parts[i].find_first_not_of("0123456789") != std::string_view::npos) return Bad(whole, "unexpected character");
    const auto number = ParseNumber<std::uint8_t>(parts[i]);
    if (!number) return Bad(whole, "IPv4 field has value >255");
    ip.bytes[i] = *number;
  }
  return ip;
}

// The groups between colons, as bytes appended to `out`; the last may be an IPv4 address.
std::expected<void, std::string> AppendGroups(std::string_view text, std::string_view whole, bool last,
                                              std::string& out) {
  if (text.empty()) return {};
  const auto groups = Split(text, ':');
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (last && i + 1 == groups.size() && groups[i].contains('.')) {
      const auto v4 = ParseV4(groups[i], whole);
      if (!v4) return std::unexpected(v4.error());
      out.append(v4->bytes.begin(), v4->bytes.begin() + 4);
      continue;
    }
    const auto number = groups[i].size() <= 4 ? ParseNumber<std::uint16_t>(groups[i], 16) : std::nullopt;
    if (!number) return Bad(whole, "each colon-separated field must have one to four hexadecimal digits");
    out.push_back(static_cast<char>(*number >> 8U));
    out.push_back(static_cast<char>(*number & 0xFFU));
  }
  return {};
}

Address ParseV6(std::string_view text) {
  const auto halves = Cut(text, "::");
  std::string head;
  std::string tail;
  auto read = AppendGroups(halves ? halves->first : text, text, !halves, head);
  if (read && halves) read = AppendGroups(halves->second, text, true, tail);
  if (!read) return std::unexpected(read.error());
  const std::size_t size = head.size() + tail.size();
  if (size > 16 || (halves && size == 16)) return Bad(text, "address string too long");
  if (size < 16 && !halves) return Bad(text, "address string too short");
  IpAddress ip{.length = 16};
  std::ranges::copy(head, ip.bytes.begin());
  std::ranges::copy(tail, ip.bytes.end() - static_cast<std::ptrdiff_t>(tail.size()));
  return ip;
}

bool IsV4InV6(const IpAddress& ip) {
  return ip.length == 16 &&
         std::ranges::all_of(ip.bytes.begin(), ip.bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         ip.bytes[10] == 0xFF && ip.bytes[11] == 0xFF;
}

// RFC 5952: the first longest run of two or more zero groups becomes "::".
std::string PrintV6(const IpAddress& ip) {
  std::array<unsigned, 8> groups;
  for (std::size_t i = 0; i < 8; ++i) groups[i] = ip.bytes[2 * i] * 256U + ip.bytes[2 * i + 1];
  std::size_t best = 8;
  std::size_t best_length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t length = 0;
    while (i + length < 8 && groups[i + length] == 0) ++length;
    if (length > best_length) {
      best = i;
      best_length = length;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_length - 1;
    } else {
      if (!out.empty() && !out.ends_with(':')) out += ':';
      out += Format("{:x}", groups[i]);
    }
  }
  return out;
}

}  // namespace

std::expected<IpAddress, std::string> IpAddress::Parse(std::string_view text) {
  auto ip = [&]() -> Address {
    if (text.contains('%')) return std::unexpected(Format("IP address {} with zone value is not allowed", Quote(text)));
    if (text.contains(':')) return ParseV6(text);
    if (text.contains('.')) return ParseV4(text, text);
    return Bad(text, "unable to parse IP");
  }();
  if (ip && IsV4InV6(*ip)) return std::unexpected(Format("IPv4-mapped IPv6 address {} is not allowed", Quote(text)));
  return ip;
}

bool IpAddress::IsUnspecified() const {
  return std::ranges::all_of(bytes, [](auto b) { return b == 0; });
}

bool IpAddress::IsLoopback() const {
  if (IsV4()) return bytes[0] == 127;
  IpAddress loopback{.length = 16};
  loopback.bytes[15] = 1;
  return *this == loopback;
}

bool IpAddress::IsLinkLocalMulticast() const {
  if (IsV4()) return bytes[0] == 224 && bytes[1] == 0 && bytes[2] == 0;
  return bytes[0] == 0xFF && (bytes[1] & 0x0FU) == 0x02;
}

bool IpAddress::IsLinkLocalUnicast() const {
  if (IsV4()) return bytes[0] == 169 && bytes[1] == 254;
  return bytes[0] == 0xFE && (bytes[1] & 0xC0U) == 0x80;
}

bool IpAddress::IsGlobalUnicast() const {
  const bool broadcast =
      IsV4() && std::ranges::all_of(bytes.begin(), bytes.begin() + 4, [](auto b) { return b == 255; });
  const bool multicast = IsV4() ? (bytes[0] & 0xF0U) == 0xE0 : bytes[0] == 0xFF;
  return !broadcast && !multicast && !IsUnspecified() && !IsLoopback() && !IsLinkLocalUnicast();
}

std::string IpAddress::ToString() const {
  return IsV4() ? Format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]) : PrintV6(*this);
}

std::expected<CidrBlock, std::string> CidrBlock::Parse(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return std::unexpected(Format("netip.ParsePrefix({}): no '/'", Quote(text)));
  auto ip = IpAddress::Parse(text.substr(0, slash));
  if (!ip) return std::unexpected(ip.error());
  const std::string_view bits = text.substr(slash + 1);
  const auto prefix = ParseNumber<std::uint8_t>(bits);
  if (!prefix || (bits.size() > 1 && bits.starts_with('0'))) {
    return std::unexpected(Format("netip.ParsePrefix({}): bad bits after slash: {}", Quote(text), Quote(bits)));
  }
  if (*prefix > ip->length * 8)
    return std::unexpected(Format("netip.ParsePrefix({}): prefix length out of range", Quote(text)));
  return CidrBlock{*ip, *prefix};
}

CidrBlock CidrBlock::Masked() const {
  CidrBlock masked = *this;
  for (std::size_t i = 0; i < address.length; ++i) {
    const int kept = std::clamp(prefix - static_cast<int>(i) * 8, 0, 8);
    masked.address.bytes[i] &= static_cast<std::uint8_t>(0xFF00U >> static_cast<unsigned>(kept));
  }
  return masked;
}

bool CidrBlock::Contains(const IpAddress& ip) const {
  return ip.length == address.length && CidrBlock{ip, prefix}.Masked() == Masked();
}

bool CidrBlock::Contains(const CidrBlock& other) const { return prefix <= other.prefix && Contains(other.address); }

std::string CidrBlock::ToString() const { return Format("{}/{}", address.ToString(), prefix); }

}  // namespace tessera::cel
