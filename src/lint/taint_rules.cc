// DeviceTaintRule, with which an administrator taints devices, and what it shares with tolerations.
#include <string>

#include "base/text.h"
#include "lint/names.h"
#include "lint/rules.h"
#include "lint/schema.h"

namespace tessera::lint {
namespace {

void CheckSelector(Context& context, const Node& spec) {
  const Node selector = spec.Field("deviceSelector");
  if (!selector.exists()) {
    const bool none = context.options.release >= cel::Release::k1_37;
    context.Warn(spec, "NoSelector",
                 none ? "without deviceSelector taints no device"
                      : "without deviceSelector keeps pods from every device, and evicts none",
                 {.advice = "name driver, pool or device; `deviceSelector: {}` is every device"});
    return;
  }
  const auto check = [&](std::string_view field, bool (*is_one)(std::string_view), std::string_view advice) {
    const Node node = selector.Field(field);
    if (!node.text() || is_one(*node.text())) return;
    context.Error(node, "BadName", Format("{} is no name of a {}", Quote(Clip(*node.text(), 80)), field),
                  {.advice = std::string(advice)});
  };
  check("driver", IsDriverName, "such as gpu.nvidia.com, at most 63 bytes");
  check("pool", IsPoolName, "usually a node's name; at most 253 bytes");
  check("device", IsDnsLabel, "lower-case letters, digits and dashes, at most 63");
}

}  // namespace

void CheckTaintEffect(Context& context, const Node& effect, bool required) {
  const std::string which = effect.TextOr("");
  const bool none = which == "None" && context.options.release >= cel::Release::k1_35;
  if ((which.empty() && !(required && effect.exists())) || which == "NoSchedule" || which == "NoExecute" || none)
    return;
  context.Error(effect, "BadValue", Format("{} is no effect of a device taint", Quote(Clip(which, 60))),
                {.advice = required ? "NoSchedule or NoExecute" : "NoSchedule, NoExecute, or nothing for both"});
}

void CheckTaintRule(Context& context) {
  const Node spec = context.root().Field("spec");
  CheckShape(context, context.root(),
             context.options.release >= cel::Release::k1_35 ? kTaintRuleSchema : kOldTaintRuleSchema);
  CheckSelector(context, spec);
  const Node taint = spec.Field("taint"), key = taint.Field("key"), value = taint.Field("value");
  if (key.text() && !IsLabelKey(*key.text())) {
    context.Error(key, "BadName", Format("{} is no key of a taint", Quote(Clip(*key.text(), 80))));
  }
  if (!IsLabelValue(value.TextOr(""))) {
    context.Error(value, "BadValue", Format("{} is no value of a taint", Quote(Clip(value.TextOr(""), 80))));
  }
  CheckTaintEffect(context, taint.Field("effect"), true);
}

}  // namespace tessera::lint
