// kubernetes.Semver.
#include "base/semver.h"
#include "cel/context.h"
#include "cel/library.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

Result<Semver> Parse(Arguments a) {
  const bool normalize = a.size() == 2 && a[1].AsBool();
  return normalize ? Semver::ParseTolerant(a[0].AsText()) : Semver::Parse(a[0].AsText());
}

// Without the text that our own parser names where Kubernetes' does not.
std::string_view KubernetesMessage(std::string_view message) {
  constexpr std::string_view kTooShort = "No Major.Minor.Patch elements found";
  return message.starts_with(kTooShort) ? kTooShort : message;
}

Value ParseSemver(Context& context, Arguments a) {
  auto version = Parse(a);
  if (!version) return context.Error(KubernetesMessage(version.error().message()));
  return Value::Of(context.arena.Own(*std::move(version)));
}

Value IsSemver(Context& /*context*/, Arguments a) { return Value::Bool(Parse(a).has_value()); }
Value IsGreater(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsSemver() > a[1].AsSemver()); }
Value IsLess(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsSemver() < a[1].AsSemver()); }
Value CompareTo(Context& /*context*/, Arguments a) {
  const auto order = a[0].AsSemver() <=> a[1].AsSemver();
  return Value::Int(order < 0 ? -1 : order > 0 ? 1 : 0);
}

Value Number(std::uint64_t number) { return Value::Int(static_cast<std::int64_t>(number)); }
Value Major(Context& /*context*/, Arguments a) { return Number(a[0].AsSemver().major); }
Value Minor(Context& /*context*/, Arguments a) { return Number(a[0].AsSemver().minor); }
Value Patch(Context& /*context*/, Arguments a) { return Number(a[0].AsSemver().patch); }

constexpr OverloadSpec kOverloads[]{
    {"semver", Style::kGlobal, "(string) Semver", ParseSemver, CostRule::kTraverse},
    {"semver", Style::kGlobal, "(string, bool) Semver", ParseSemver, CostRule::kTraverse},
    {"isSemver", Style::kGlobal, "(string) bool", IsSemver, CostRule::kTraverse},
    {"isSemver", Style::kGlobal, "(string, bool) bool", IsSemver, CostRule::kTraverse},
    {"isGreaterThan", Style::kMethod, "(Semver, Semver) bool", IsGreater},
    {"isLessThan", Style::kMethod, "(Semver, Semver) bool", IsLess},
    {"compareTo", Style::kMethod, "(Semver, Semver) int", CompareTo},
    {"major", Style::kMethod, "(Semver) int", Major},
    {"minor", Style::kMethod, "(Semver) int", Minor},
    {"patch", Style::kMethod, "(Semver) int", Patch},
};

}  // namespace

std::span<const OverloadSpec> SemverFunctions() { return kOverloads; }

}  // namespace tessera::cel
