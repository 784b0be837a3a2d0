// Kubernetes' format library: named formats that text may be validated against.
#include <string>
#include <vector>

#include "cel/context.h"
#include "cel/formats.h"
#include "cel/library.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

Value Named(Context& context, Arguments a) {
  const NamedFormat* format = FindFormat(a[0].AsText());
  return format == nullptr ? Value::None() : context.Some(Value::Of(format));
}

template <std::size_t index>
Value Constant(Context& /*context*/, Arguments /*a*/) {
  return Value::Of(&NamedFormats()[index]);
}

// None when the text is valid, otherwise what is wrong with it.
Value Validate(Context& context, Arguments a) {
  const std::vector<std::string> faults = a[0].AsFormat().validate(a[1].AsText());
  if (faults.empty()) return Value::None();
  const std::span<Value> items = context.arena.Room<Value>(faults.size());
  for (std::size_t i = 0; i < faults.size(); ++i) items[i] = context.Text(faults[i]);
  return context.Some(Value::List(items));
}

constexpr OverloadSpec kOverloads[]{
    {"format.named", Style::kGlobal, "(string) optional<Format>", Named},
    {"validate", Style::kMethod, "(Format, string) optional<list<string>>", Validate, CostRule::kFormat},
    // In the order of NamedFormats().
    {"format.dns1123Label", Style::kGlobal, "() Format", Constant<0>},
    {"format.dns1123Subdomain", Style::kGlobal, "() Format", Constant<1>},
    {"format.dns1035Label", Style::kGlobal, "() Format", Constant<2>},
    {"format.qualifiedName", Style::kGlobal, "() Format", Constant<3>},
    {"format.dns1123LabelPrefix", Style::kGlobal, "() Format", Constant<4>},
    {"format.dns1123SubdomainPrefix", Style::kGlobal, "() Format", Constant<5>},
    {"format.dns1035LabelPrefix", Style::kGlobal, "() Format", Constant<6>},
    {"format.labelValue", Style::kGlobal, "() Format", Constant<7>},
    {"format.uri", Style::kGlobal, "() Format", Constant<8>},
    {"format.uuid", Style::kGlobal, "() Format", Constant<9>},
    {"format.byte", Style::kGlobal, "() Format", Constant<10>},
    {"format.date", Style::kGlobal, "() Format", Constant<11>},
    {"format.datetime", Style::kGlobal, "() Format", Constant<12>},
};

}  // namespace

std::span<const OverloadSpec> FormatFunctions() { return kOverloads; }

}  // namespace tessera::cel
