// Kubernetes' libraries for IP addresses, CIDR blocks and URLs.
#include <string>

#include "base/text.h"
#include "cel/context.h"
#include "cel/library.h"
#include "cel/map_builder.h"
#include "cel/network.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

Value BadIp(Context& context, std::string_view text, std::string_view why) {
  return context.Error(Format("IP Address {} parse error during conversion from string: {}", Quote(text), why));
}

Value ParseIp(Context& context, Arguments a) {
  const auto ip = IpAddress::Parse(a[0].AsText());
  return ip ? Value::Of(context.arena.Own(*ip)) : BadIp(context, a[0].AsText(), ip.error());
}
Value IsIp(Context& /*context*/, Arguments a) { return Value::Bool(IpAddress::Parse(a[0].AsText()).has_value()); }
Value IsCanonical(Context& context, Arguments a) {
  const auto ip = IpAddress::Parse(a[0].AsText());
  return ip ? Value::Bool(ip->ToString() == a[0].AsText()) : BadIp(context, a[0].AsText(), ip.error());
}
Value IpToString(Context& context, Arguments a) { return context.Text(a[0].AsIp().ToString()); }
Value Family(Context& /*context*/, Arguments a) { return Value::Int(a[0].AsIp().IsV4() ? 4 : 6); }

template <bool (IpAddress::*question)() const>
Value Ask(Context& /*context*/, Arguments a) {
  return Value::Bool((a[0].AsIp().*question)());
}

Value BadCidr(Context& context, std::string_view why) {
  // Kubernetes says so twice.
  constexpr std::string_view kWhat = "network address parse error during conversion from string";
  return context.Error(Format("{}: {}: {}", kWhat, kWhat, why));
}

Value ParseCidr(Context& context, Arguments a) {
  const auto cidr = CidrBlock::Parse(a[0].AsText());
  return cidr ? Value::Of(context.arena.Own(*cidr)) : BadCidr(context, cidr.error());
}
Value IsCidr(Context& /*context*/, Arguments a) { return Value::Bool(CidrBlock::Parse(a[0].AsText()).has_value()); }
Value CidrToString(Context& context, Arguments a) { return context.Text(a[0].AsCidr().ToString()); }
Value CidrIp(Context& /*context*/, Arguments a) { return Value::Of(&a[0].AsCidr().address); }
Value PrefixLength(Context& /*context*/, Arguments a) { return Value::Int(a[0].AsCidr().prefix); }
Value Masked(Context& context, Arguments a) { return Value::Of(context.arena.Own(a[0].AsCidr().Masked())); }

Value ContainsIp(Context& context, Arguments a) {
  if (a[1].Is(Kind::kIp)) return Value::Bool(a[0].AsCidr().Contains(a[1].AsIp()));
  const auto ip = IpAddress::Parse(a[1].AsText());
  return ip ? Value::Bool(a[0].AsCidr().Contains(*ip)) : BadIp(context, a[1].AsText(), ip.error());
}

Value ContainsCidr(Context& context, Arguments a) {
  if (a[1].Is(Kind::kCidr)) return Value::Bool(a[0].AsCidr().Contains(a[1].AsCidr()));
  const auto cidr = CidrBlock::Parse(a[1].AsText());
  return cidr ? Value::Bool(a[0].AsCidr().Contains(*cidr)) : BadCidr(context, cidr.error());
}

constexpr auto kGlobal = Style::kGlobal;
constexpr auto kMethod = Style::kMethod;

constexpr OverloadSpec kNetwork[]{
    {"ip", kGlobal, "(string) IP", ParseIp, CostRule::kTraverse},
    {"isIP", kGlobal, "(string) bool", IsIp, CostRule::kTraverse},
    {"ip.isCanonical", kGlobal, "(string) bool", IsCanonical, CostRule::kTraverseTwice},
    {"string", kGlobal, "(IP) string", IpToString},
    {"family", kMethod, "(IP) int", Family},
    {"isUnspecified", kMethod, "(IP) bool", Ask<&IpAddress::IsUnspecified>},
    {"isLoopback", kMethod, "(IP) bool", Ask<&IpAddress::IsLoopback>},
    {"isLinkLocalMulticast", kMethod, "(IP) bool", Ask<&IpAddress::IsLinkLocalMulticast>},
    {"isLinkLocalUnicast", kMethod, "(IP) bool", Ask<&IpAddress::IsLinkLocalUnicast>},
    {"isGlobalUnicast", kMethod, "(IP) bool", Ask<&IpAddress::IsGlobalUnicast>},
    {"cidr", kGlobal, "(string) CIDR", ParseCidr, CostRule::kTraverse},
    {"isCIDR", kGlobal, "(string) bool", IsCidr, CostRule::kTraverse},
    {"string", kGlobal, "(CIDR) string", CidrToString},
    {"ip", kMethod, "(CIDR) IP", CidrIp},
    {"prefixLength", kMethod, "(CIDR) int", PrefixLength},
    {"masked", kMethod, "(CIDR) CIDR", Masked},
    {"containsIP", kMethod, "(CIDR, IP) bool", ContainsIp, CostRule::kCidrContains},
    {"containsIP", kMethod, "(CIDR, string) bool", ContainsIp, CostRule::kCidrContains},
    {"containsCIDR", kMethod, "(CIDR, CIDR) bool", ContainsCidr, CostRule::kCidrContainsBlock},
    {"containsCIDR", kMethod, "(CIDR, string) bool", ContainsCidr, CostRule::kCidrContainsBlock},
};

Value ParseUrl(Context& context, Arguments a) {
  auto url = Url::Parse(a[0].AsText());
  if (!url) return context.Error(Format("URL parse error during conversion from string: {}", url.error()));
  return Value::Of(context.arena.Own(*std::move(url)));
}
Value IsUrl(Context& /*context*/, Arguments a) { return Value::Bool(Url::Parse(a[0].AsText()).has_value()); }
Value Scheme(Context& /*context*/, Arguments a) { return Value::String(a[0].AsUrl().scheme); }
Value Host(Context& /*context*/, Arguments a) { return Value::String(a[0].AsUrl().host); }
Value Hostname(Context& context, Arguments a) { return context.Text(a[0].AsUrl().Hostname()); }
Value Port(Context& context, Arguments a) { return context.Text(a[0].AsUrl().Port()); }
Value EscapedPath(Context& /*context*/, Arguments a) { return Value::String(a[0].AsUrl().path); }

Value Query(Context& context, Arguments a) {
  const auto pairs = a[0].AsUrl().Query();
  MapBuilder builder(context.arena, pairs.size());
  for (const auto& [key, values] : pairs) {
    const std::span<Value> items = context.arena.Room<Value>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) items[i] = context.Text(values[i]);
    builder.Add(context.Text(key), Value::List(items));
  }
  return builder.Build();
}

constexpr OverloadSpec kUrls[]{
    {"url", kGlobal, "(string) URL", ParseUrl, CostRule::kTraverse},
    {"isURL", kGlobal, "(string) bool", IsUrl},
    {"getScheme", kMethod, "(URL) string", Scheme},
    {"getHost", kMethod, "(URL) string", Host},
    {"getHostname", kMethod, "(URL) string", Hostname},
    {"getPort", kMethod, "(URL) string", Port},
    {"getEscapedPath", kMethod, "(URL) string", EscapedPath},
    {"getQuery", kMethod, "(URL) map<string, list<string>>", Query},
};

}  // namespace

std::span<const OverloadSpec> NetworkFunctions() { return kNetwork; }
std::span<const OverloadSpec> UrlFunctions() { return kUrls; }

}  // namespace tessera::cel
