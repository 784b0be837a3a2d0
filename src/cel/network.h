// cel/network.h: IP addresses, CIDR blocks and URLs, read as Go's net/netip and net/url read them for Kubernetes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <expected>

namespace tessera::cel {

// Four bytes of an IPv4 address, or the sixteen of an IPv6 address.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::uint8_t length = 4;

  // Strict: no leading zeros, no zone, and no IPv4 address in IPv6 clothes ("::ffff:1.2.3.4").
  static std::expected<IpAddress, std::string> Parse(std::string_view text);

  bool IsV4() const { return length == 4; }
  bool IsUnspecified() const;
  bool IsLoopback() const;
  bool IsLinkLocalMulticast() const;
  bool IsLinkLocalUnicast() const;
  bool IsGlobalUnicast() const;
  bool operator==(const IpAddress&) const = default;
  std::string ToString() const;  // RFC 5952 for IPv6.
};

struct CidrBlock {
  IpAddress address;  // As written: bits after the prefix are kept.
  int prefix = 0;

  static std::expected<CidrBlock, std::string> Parse(std::string_view text);

  CidrBlock Masked() const;
  bool Contains(const IpAddress& ip) const;
  bool Contains(const CidrBlock& other) const;
  bool operator==(const CidrBlock&) const = default;
  std::string ToString() const;
};

// An absolute URI or an absolute path, taken apart.
struct Url {
  std::string scheme;
  std::string user;  // With its "@" when there is one.
  std::string host;  // With port and brackets.
  std::string path;  // Escaped, as written.
  std::string query;
  bool has_authority = false;

  static std::expected<Url, std::string> Parse(std::string_view text);

  std::string Hostname() const;
  std::string Port() const;
  // Keys in the order of their first use, each with its values, decoded.
  std::vector<std::pair<std::string, std::vector<std::string>>> Query() const;
  std::string ToString() const;
};

}  // namespace tessera::cel
