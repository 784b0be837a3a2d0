// What a claim asks for: names, counts, classes, selectors, tolerations.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "lint/names.h"
#include "lint/rules.h"
#include "lint/selector_rules.h"

namespace tessera::lint {
namespace {

constexpr std::int64_t kMostDevices = 32;  // Results of an allocation.

void CheckName(Context& context, const Node& node, std::set<std::string>& seen) {
  const auto name = node.text();
  if (!name) return;
  if (!IsDnsLabel(*name)) {
    context.Error(node, "BadName", Format("{} is no DNS label", Quote(Clip(*name, 80))),
                  {.advice = "lower-case letters, digits and dashes, at most 63"});
  } else if (!seen.insert(*name).second) {
    context.Error(node, "DuplicateName", Format("{} is the name of another request already", Quote(*name)));
  }
}

void CheckMode(Context& context, const Node& request) {
  const Node mode = request.Field("allocationMode"), count = request.Field("count");
  const std::string wanted = mode.TextOr("");
  const std::int64_t wanted_count = count.integer().value_or(1);
  if (!wanted.empty() && wanted != "ExactCount" && wanted != "All") {
    context.Error(mode, "BadValue", Format("{} is no allocation mode", Quote(Clip(wanted, 60))),
                  {.advice = "ExactCount (the default) or All"});
  } else if (wanted == "All" && count.integer().value_or(0) != 0) {
    context.Error(count, "BadValue", "there is no count with allocationMode All", {.advice = "remove one of them"});
  } else if (wanted != "All" && wanted_count < 0) {
    context.Error(count, "BadValue", "must be greater than zero");
  } else if (wanted != "All" && wanted_count == 0) {
    context.Warn(count, "BadValue", "0 counts as if it were not there: one device", {.advice = "say 1"});
  }
}

void CheckClassName(Context& context, const Node& node) {
  const auto name = node.text();
  if (!name) return;
  if (!IsDnsSubdomain(*name)) {
    context.Error(node, "BadName", Format("{} is no name of a class", Quote(Clip(*name, 80))),
                  {.advice = "lower-case letters, digits, dashes and dots"});
  } else if (!context.catalogue.ClassOf(*name).known) {
    std::vector<std::string_view> known{"gpu.nvidia.com", "mig.nvidia.com"};
    const auto near = NearMatch(*name, known);
    context.Warn(node, "NotInFiles",
                 Format("the DeviceClass {} is not in the files, nor one that Tessera installs", *name),
                 {.advice = near ? Format("did you mean {}?", *near) : "the claim waits until it exists"});
  }
}

void CheckToleration(Context& context, const Node& node) {
  const Node key = node.Field("key"), op = node.Field("operator"), value = node.Field("value"),
             effect = node.Field("effect");
  const std::string wanted = op.TextOr(""), which = effect.TextOr("");
  if (!wanted.empty() && wanted != "Exists" && wanted != "Equal") {
    context.Error(op, "BadValue", Format("{} is no operator of a toleration", Quote(Clip(wanted, 60))),
                  {.advice = "Exists or Equal (the default)"});
  }
  if (key.TextOr("").empty() && wanted != "Exists") {
    context.Warn(node, "BadValue", "without a key tolerates every taint whose value is the same, whatever it is for",
                 {.advice = "give the key, or `operator: Exists` to tolerate all"});
  } else if (!key.TextOr("").empty() && !IsLabelKey(key.TextOr(""))) {
    context.Error(key, "BadName", Format("{} is no key of a taint", Quote(Clip(key.TextOr(""), 80))));
  }
  if (wanted == "Exists" && !value.TextOr("").empty()) {
    context.Error(value, "BadValue", "must be empty with operator Exists");
  } else if (!IsLabelValue(value.TextOr(""))) {
    context.Error(value, "BadValue", Format("{} is no value of a taint", Quote(Clip(value.TextOr(""), 80))));
  }
  CheckTaintEffect(context, effect, false);
  if (which.empty()) {
    context.Note(node, "EmptyEffect", "tolerates NoExecute for the scheduler, and the pod is evicted all the same",
                 {.advice = "add one with `effect: NoExecute` to keep it (Kubernetes 1.36 and 1.37)"});
  }
}

void CheckCapacity(Context& context, const Node& requests) {
  for (const std::string& name : requests.Keys()) {
    if (IsQualifiedName(name)) continue;
    context.Error(requests.Key(name), "BadName", Format("{} is no name of a capacity", Quote(Clip(name, 80))),
                  {.advice = "a C identifier of at most 32 characters, or domain/identifier"});
  }
}

// The namespace must allow it: the server looks when the claim is made.
void CheckAdminAccess(Context& context, const Node& node) {
  if (!node.IsTrue()) return;
  constexpr std::string_view kLabel = "resource.kubernetes.io/admin-access";
  const std::string& name = context.object.namespace_name;
  const manifests::Manifest* const space = name.empty() ? nullptr : context.catalogue.Find("Namespace", "", name);
  const std::string advice = Format("label the namespace: `{}: \"true\"`", kLabel);
  if (space == nullptr) {
    context.Warn(node, "AdminAccess", "refused unless the namespace has the label for it", {.advice = advice});
    return;
  }
  const Node label = Node(&space->value, "").Field("metadata").Field("labels").Key(kLabel);
  if (label.TextOr("") != "true") {
    context.Error(node, "AdminAccess", Format("refused: the namespace {} has no label for it", name),
                  {.advice = advice});
  }
}

void CheckOnLiveDevices(Context& context, const Node& request) {
  const auto all = AllDevices(context);
  const std::string class_name = request.Field("deviceClassName").TextOr("");
  const auto of_class = context.catalogue.ClassOf(class_name);
  if (context.options.devices == nullptr || !of_class.known) return;
  const auto devices = Matching(context, all, of_class.selectors);
  const Node name = request.Field("deviceClassName");
  if (devices.empty()) {
    context.Warn(name, "NoMatch", Format("none of {} devices is of class {}", all.size(), class_name));
    return;
  }
  const Node selectors = request.Field("selectors");
  CheckOnDevices(context, selectors, devices, Format("of class {}", class_name));
  const auto left = Matching(context, devices, SelectorsOf(selectors));
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(request.Field("count").integer().value_or(1), 1));
  if (!left.empty() && left.size() < count) {
    context.Warn(request.Field("count"), "TooFew",
                 Format("asks for {} devices, and only {} match", count, left.size()));
  }
}

void CheckRequest(Context& context, const Node& request) {
  CheckMode(context, request);
  CheckClassName(context, request.Field("deviceClassName"));
  const std::string driver = context.catalogue.DriverOf(request.Field("deviceClassName").TextOr(""));
  CheckSelectors(context, request.Field("selectors"), driver);
  const auto tolerations = request.Field("tolerations").Items();
  for (const Node& toleration : tolerations) CheckToleration(context, toleration);
  if (tolerations.size() > 16) {
    context.Warn(request.Field("tolerations"), "TooMany", "more than the 16 that the API documents",
                 {.advice = "servers up to 1.37 take them; a later one may not"});
  }
  CheckCapacity(context, request.Field("capacity").Field("requests"));
  CheckAdminAccess(context, request.Field("adminAccess"));
  CheckOnLiveDevices(context, request);
}

// `exactly` or `firstAvailable`, and in v1beta1 a class in the place of `exactly`.
void CheckChoice(Context& context, const Node& request) {
  const Node exactly = context.IsV1Beta1() ? request.Field("deviceClassName") : request.Field("exactly");
  const bool first = !request.Field("firstAvailable").Items().empty();
  const std::string one = context.IsV1Beta1() ? "deviceClassName" : "exactly";
  if (exactly.exists() && first) {
    context.Error(request, "OneOf", Format("has both {} and firstAvailable", one), {.advice = "choose one of them"});
  } else if (!exactly.exists() && !first) {
    context.Error(request, "OneOf", Format("has neither {} nor firstAvailable", one), {.advice = "choose one of them"});
  }
}

// What one request may become: one thing, or one of several.
std::vector<AskedRequest> AskedBy(const Node& request, bool is_v1beta1) {
  const std::string name = request.Field("name").TextOr("");
  const auto subs = request.Field("firstAvailable").Items();
  if (subs.empty()) return {{name, is_v1beta1 ? request : request.Field("exactly")}};
  std::vector<AskedRequest> asked;
  for (const Node& sub : subs) asked.push_back({Format("{}/{}", name, sub.Field("name").TextOr("")), sub});
  return asked;
}

// Of the largest of them. How many `All` are is for the devices to say; at least one.
std::int64_t MostDevices(const std::vector<AskedRequest>& asked) {
  std::int64_t most = 0;
  for (const AskedRequest& one : asked) {
    const bool all = one.node.Field("allocationMode").TextOr("") == "All";
    most = std::max(most, all ? 1 : one.node.Field("count").integer().value_or(1));
  }
  return std::min(most, kMostDevices + 1);
}

}  // namespace

std::vector<AskedRequest> RequestsOf(const Node& spec, bool is_v1beta1) {
  std::vector<AskedRequest> asked;
  for (const Node& request : spec.Field("devices").Field("requests").Items()) {
    std::ranges::move(AskedBy(request, is_v1beta1), std::back_inserter(asked));
  }
  return asked;
}

void CheckRequests(Context& context, const Node& requests) {
  if (requests.Items().empty()) context.Warn(requests, "MissingField", "asks for no device");
  std::set<std::string> names;
  std::int64_t devices = 0;
  for (const Node& request : requests.Items()) {
    CheckName(context, request.Field("name"), names);
    CheckChoice(context, request);
    std::set<std::string> sub_names;
    for (const Node& sub : request.Field("firstAvailable").Items()) CheckName(context, sub.Field("name"), sub_names);
    const auto asked = AskedBy(request, context.IsV1Beta1());
    for (const AskedRequest& one : asked) CheckRequest(context, one.node);
    devices += MostDevices(asked);
  }
  if (devices > kMostDevices) {
    context.Error(requests, "TooMany", Format("asks for more than {} devices, which no claim can get", kMostDevices),
                  {.advice = "split it into several claims"});
  }
}

}  // namespace tessera::lint
