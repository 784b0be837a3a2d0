#include "cel/formats.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cel/network.h"
#include "cel/number_text.h"

namespace tessera::cel {
namespace {

using Faults = std::vector<std::string>;

// Compiled on first use, for good.
template <const char* pattern>
bool FullMatch(std::string_view text) {
  static const re2::RE2 kRegex(pattern);
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kRegex);
}

constexpr char kLabel[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr char kSubdomain[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr char kLabel1035[] = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr char kName[] = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr char kLabelValue[] = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
constexpr char kUuid[] = "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}";
constexpr char kBase64[] = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?";
constexpr char kDate[] = "[0-9]{4}-[0-9]{2}-[0-9]{2}";

template <const char* pattern>
Faults Check(std::string_view text, std::size_t limit, std::string_view what) {
  Faults faults;
  if (text.size() > limit) faults.push_back(Format("must be no more than {} characters", limit));
  if (!FullMatch<pattern>(text)) faults.push_back(Format("must be {} ('{}')", what, pattern));
  return faults;
}

Faults Label(std::string_view text) { return Check<kLabel>(text, 63, "a lowercase RFC 1123 label"); }
Faults Subdomain(std::string_view text) { return Check<kSubdomain>(text, 253, "a lowercase RFC 1123 subdomain"); }
Faults Label1035(std::string_view text) { return Check<kLabel1035>(text, 63, "a DNS-1035 label"); }
Faults LabelValue(std::string_view text) { return Check<kLabelValue>(text, 63, "a valid label value"); }

// A prefix of a name may end in a dash, because something is appended to it. Kubernetes replaces the last two characters,
// so "1-" is taken as "a" is.
std::string Completed(std::string_view prefix) {
  if (prefix.size() < 2 || !prefix.ends_with('-')) return std::string(prefix);
  return std::string(prefix.substr(0, prefix.size() - 2)) + "a";
}
Faults LabelPrefix(std::string_view text) { return Label(Completed(text)); }
Faults SubdomainPrefix(std::string_view text) { return Subdomain(Completed(text)); }
Faults Label1035Prefix(std::string_view text) { return Label1035(Completed(text)); }

Faults QualifiedName(std::string_view text) {
  const auto parts = Cut(text, "/");
  Faults faults;
  if (parts && parts->first.empty()) faults.emplace_back("prefix part must be non-empty");
  if (parts && !parts->first.empty()) {
    for (const std::string& fault : Subdomain(parts->first)) faults.push_back("prefix part " + fault);
  }
  for (const std::string& fault : Check<kName>(parts ? parts->second : text, 63, "a qualified name")) {
    faults.push_back("name part " + fault);
  }
  return faults;
}

Faults Uri(std::string_view text) {
  const auto url = Url::Parse(text);
  return url ? Faults() : Faults{url.error()};
}

Faults Uuid(std::string_view text) {
  return FullMatch<kUuid>(text) ? Faults() : Faults{"does not match the UUID format"};
}
Faults Byte(std::string_view text) {
  return !text.empty() && FullMatch<kBase64>(text) ? Faults() : Faults{"invalid base64"};
}
Faults Date(std::string_view text) {
  const bool valid = FullMatch<kDate>(text) && ParseTime(std::string(text) + "T00:00:00Z");
  return valid ? Faults() : Faults{"invalid date"};
}
Faults DateTime(std::string_view text) { return ParseTime(text) ? Faults() : Faults{"invalid datetime"}; }

// The lengths of patterns are those that Kubernetes reckons with.
constexpr std::array kFormats{
    NamedFormat{"dns1123Label", Label, 30},
    NamedFormat{"dns1123Subdomain", Subdomain, 60},
    NamedFormat{"dns1035Label", Label1035, 30},
    NamedFormat{"qualifiedName", QualifiedName, 60},
    NamedFormat{"dns1123LabelPrefix", LabelPrefix, 30},
    NamedFormat{"dns1123SubdomainPrefix", SubdomainPrefix, 60},
    NamedFormat{"dns1035LabelPrefix", Label1035Prefix, 30},
    NamedFormat{"labelValue", LabelValue, 40},
    NamedFormat{"uri", Uri, 1104},
    NamedFormat{"uuid", Uuid, 72},
    NamedFormat{"byte", Byte, 84},
    NamedFormat{"date", Date, 72},
    NamedFormat{"datetime", DateTime, 72},
};

}  // namespace

std::span<const NamedFormat> NamedFormats() { return kFormats; }

const NamedFormat* FindFormat(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &NamedFormat::name);
  return found == kFormats.end() ? nullptr : found;
}

}  // namespace tessera::cel
