#include "cel/network.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::cel {
namespace {

TEST(IpAddress, ReadsAndPrintsOrRefuses) {
  struct Case {
    std::string_view text, printed;  // Empty: refused.
  };
  constexpr Case kCases[]{
      {"10.0.0.1", "10.0.0.1"},
      {"255.255.255.255", "255.255.255.255"},
      {"256.0.0.1", ""},
      {"1.2.3", ""},
      {"1.2.3.4.5", ""},
      {"01.2.3.4", ""},
      {"1.2.3.", ""},
      {"1.2.3.x", ""},
      {"::", "::"},
      {"::1", "::1"},
      {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
      {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
      {"1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"},
      {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
      {"::ffff:1.2.3.4", ""},
      {"fe80::1%eth0", ""},
      {"1:2:3:4:5:6:7", ""},
      {"1:2:3:4:5:6:7:8:9", ""},
      {"1:2:3:4:5:6:7::8", ""},
      {"12345::", ""},
      {"1::2::3", ""},
      {":1", ""},
      {"", ""},
      {"nonsense", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto ip = IpAddress::Parse(c.text);
    EXPECT_EQ(ip ? ip->ToString() : "", c.printed);
  }
}

TEST(IpAddress, KnowsWhatItIsFor) {
  struct Case {
    std::string_view text, kinds;
  };
  constexpr Case kCases[]{
      {"0.0.0.0", "unspecified"},
      {"127.1.2.3", "loopback"},
      {"10.0.0.1", "global"},
      {"255.255.255.255", ""},
      {"224.0.0.1", "link-multicast"},
      {"239.0.0.1", ""},
      {"169.254.0.1", "link-local"},
      {"::", "unspecified"},
      {"::1", "loopback"},
      {"2001:db8::1", "global"},
      {"ff02::1", "link-multicast"},
      {"fe80::1", "link-local"},
      {"ff05::1", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const IpAddress ip = IpAddress::Parse(c.text).value();
    std::string kinds;
    if (ip.IsUnspecified()) kinds += "unspecified";
    if (ip.IsLoopback()) kinds += "loopback";
    if (ip.IsGlobalUnicast()) kinds += "global";
    if (ip.IsLinkLocalUnicast()) kinds += "link-local";
    if (ip.IsLinkLocalMulticast()) kinds += "link-multicast";
    EXPECT_EQ(kinds, c.kinds);
  }
}

TEST(CidrBlock, ContainsWhatHasItsPrefix) {
  const auto cidr = [](std::string_view text) { return CidrBlock::Parse(text).value(); };
  const auto ip = [](std::string_view text) { return IpAddress::Parse(text).value(); };
  EXPECT_TRUE(cidr("10.1.2.3/8").Contains(ip("10.9.9.9")));
  EXPECT_FALSE(cidr("10.0.0.0/9").Contains(ip("10.128.0.0")));
  EXPECT_TRUE(cidr("0.0.0.0/0").Contains(ip("1.2.3.4")));
  EXPECT_FALSE(cidr("::/0").Contains(ip("1.2.3.4")));
  EXPECT_TRUE(cidr("10.0.0.0/8").Contains(cidr("10.1.0.0/16")));
  EXPECT_FALSE(cidr("10.1.0.0/16").Contains(cidr("10.0.0.0/8")));
  EXPECT_EQ(cidr("10.1.2.3/12").Masked().ToString(), "10.0.0.0/12");
  EXPECT_EQ(cidr("2001:db8:ffff::/33").Masked().ToString(), "2001:db8:8000::/33");
  for (const std::string_view bad :
       {"10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/", "/8", "::/129"}) {
    EXPECT_FALSE(CidrBlock::Parse(bad).has_value()) << bad;
  }
}

TEST(Url, IsTakenApartAsGoDoes) {
  struct Case {
    std::string_view text, parts;  // scheme|host|hostname|port|path|query; empty: refused.
  };
  constexpr Case kCases[]{
      {"https://example.com:80/a/b?x=1", "https|example.com:80|example.com|80|/a/b|x=1"},
      {"HTTP://user:pw@[::1]:8080/", "http|[::1]:8080|::1|8080|/|"},
      {"/a b", "||||/a%20b|"},
      {"/a%20b", "||||/a%20b|"},
      {"https://example.com", "https|example.com|example.com|||"},
      {"mailto:x", "mailto|||||"},
      {"example.com/a", ""},
      {"", ""},
      {"://x", ""},
      {"https://example.com:x/", ""},
      {"https://[::1/", ""},
      {"/%zz", ""},
      {"/a\nb", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto url = Url::Parse(c.text);
    const std::string parts =
        url ? Format("{}|{}|{}|{}|{}|{}", url->scheme, url->host, url->Hostname(), url->Port(), url->path, url->query)
            : "";
    EXPECT_EQ(parts, c.parts);
  }
}

}  // namespace
}  // namespace tessera::cel
