#include "lint/lint.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "lint/context.h"
#include "lint/rules.h"
#include "lint/schema.h"

namespace tessera::lint {
namespace {

struct WorkloadKind {
  std::string_view api_version, kind;
  std::string_view pod_spec;  // Where it is, by dots.
  std::string_view pods;      // Where it says how many at a time; one when it does not. Empty: as many as it likes.
};
constexpr std::array kWorkloads{
    WorkloadKind{"v1", "Pod", "spec", "spec.replicas"},  // It has no such field: one.
    WorkloadKind{"v1", "PodTemplate", "template.spec", ""},
    WorkloadKind{"v1", "ReplicationController", "spec.template.spec", "spec.replicas"},
    WorkloadKind{"apps/v1", "Deployment", "spec.template.spec", "spec.replicas"},
    WorkloadKind{"apps/v1", "ReplicaSet", "spec.template.spec", "spec.replicas"},
    WorkloadKind{"apps/v1", "StatefulSet", "spec.template.spec", "spec.replicas"},
    WorkloadKind{"apps/v1", "DaemonSet", "spec.template.spec", ""},
    WorkloadKind{"batch/v1", "Job", "spec.template.spec", "spec.parallelism"},
    WorkloadKind{"batch/v1", "CronJob", "spec.jobTemplate.spec.template.spec", "spec.jobTemplate.spec.parallelism"}};

constexpr std::array<std::string_view, 5> kKinds{"DeviceClass", "DeviceTaintRule", "ResourceClaim",
                                                 "ResourceClaimTemplate", "ResourceSlice"};

// A version of the group that servers have for a kind, from some release on.
struct Version {
  std::string_view name;
  cel::Release since;
  std::string_view goes_with;  // The release that has it no more. Empty: served without being told to.
};
constexpr std::array kVersions{Version{"resource.k8s.io/v1", cel::Release::k1_34, ""},
                               Version{"resource.k8s.io/v1beta2", cel::Release::k1_34, "1.39"},
                               Version{"resource.k8s.io/v1beta1", cel::Release::k1_34, "1.38"}};
constexpr std::array kTaintRuleVersions{Version{"resource.k8s.io/v1", cel::Release::k1_37, ""},
                                        Version{"resource.k8s.io/v1beta2", cel::Release::k1_36, "1.42"},
                                        Version{"resource.k8s.io/v1alpha3", cel::Release::k1_34, "1.39"}};

// Whether servers of this release know the version, and serve it unless told otherwise.
bool CheckVersion(Context& context) {
  const std::string& version = context.object.api_version;
  const Node node = context.root().Field("apiVersion");
  const auto is_there = [&](const Version& one) { return one.since <= context.options.release; };
  const auto& versions = context.object.kind == "DeviceTaintRule" ? kTaintRuleVersions : kVersions;
  const auto newest = std::ranges::find_if(versions, is_there);
  const auto own = std::ranges::find(versions, version, &Version::name);
  if (own == versions.end() || !is_there(*own)) {
    context.Error(node, "BadVersion",
                  Format("Kubernetes {} has no {} {}", ToString(context.options.release), version, context.object.kind),
                  {.fix = Format("apiVersion: {}", newest->name)});
    return false;
  }
  if (own->goes_with.empty()) return true;
  context.Warn(node, "VersionOff",
               Format("{} is not served unless the API server was told to (--runtime-config)", version),
               {.advice = Format("it goes with Kubernetes {}", own->goes_with),
                .fix = newest->goes_with.empty() ? Format("apiVersion: {}", newest->name) : ""});
  return true;
}

void CheckResource(Context& context) {
  const std::string& kind = context.object.kind;
  if (!CheckVersion(context)) return;
  const bool flat = context.IsV1Beta1();
  const Node spec = context.root().Field("spec");
  if (kind == "ResourceClaim") {
    CheckShape(context, context.root(), flat ? kFlatClaimSchema : kClaimSchema);
    CheckClaimSpec(context, spec);
  } else if (kind == "ResourceClaimTemplate") {
    CheckShape(context, context.root(), flat ? kFlatTemplateSchema : kTemplateSchema);
    CheckLabels(context, spec.Field("metadata"));
    CheckClaimSpec(context, spec.Field("spec"));
  } else if (kind == "DeviceClass") {
    CheckShape(context, context.root(), kClassSchema);
    CheckClass(context);
  } else if (kind == "DeviceTaintRule") {
    CheckTaintRule(context);
  } else if (!flat) {
    CheckShape(context, context.root(), kSliceSchema);
  }
  CheckMetadata(context);
}

// Other kinds of the group (ResourcePoolStatusRequest) are passed over; misspelt ones are not.
bool CheckKindName(Context& context) {
  const std::string& kind = context.object.kind;
  if (std::ranges::find(kKinds, kind) != kKinds.end()) return true;
  const auto near = NearMatch(kind, kKinds);
  if (near) {
    context.Error(context.root().Field("kind"), "BadKind",
                  Format("{} has no kind {}", context.object.api_version, kind),
                  {.advice = Format("did you mean {}?", *near), .fix = Format("kind: {}", *near)});
  }
  return false;
}

Node Follow(Node node, std::string_view path) {
  for (const std::string_view field : Split(path, '.')) node = node.Field(field);
  return node;
}

void CheckWorkload(Context& context, const WorkloadKind& workload) {
  const Node spec = Follow(context.root(), workload.pod_spec);
  if (!spec.exists()) {
    context.Error(spec, "MissingField", Format("{} is required", workload.pod_spec));
    return;
  }
  const bool one = !workload.pods.empty() && Follow(context.root(), workload.pods).integer().value_or(1) <= 1;
  CheckPodSpec(context, spec, !one);
}

const WorkloadKind* WorkloadOf(const manifests::Manifest& object) {
  const auto found = std::ranges::find(kWorkloads, object.kind, &WorkloadKind::kind);
  return found != kWorkloads.end() && found->api_version == object.api_version ? &*found : nullptr;
}

// Whether it is of a kind that is checked.
bool CheckObject(Context& context) {
  const manifests::Manifest& object = context.object;
  if (object.api_version.starts_with(kResourceGroup)) {
    if (!CheckKindName(context)) return false;
    CheckResource(context);
    return true;
  }
  if (const WorkloadKind* const workload = WorkloadOf(object)) {
    CheckWorkload(context, *workload);
    return true;
  }
  return false;
}

}  // namespace

Report Lint(std::span<const manifests::Manifest> objects, const Options& options) {
  Report report;
  const Catalogue catalogue(objects);
  for (const manifests::Manifest& object : objects) {
    std::vector<Finding> findings;
    Context context(options, catalogue, object, findings);
    (CheckObject(context) ? report.checked : report.passed_over) += 1;
    std::ranges::stable_sort(findings, {}, [](const Finding& finding) { return finding.origin.line; });
    std::ranges::move(findings, std::back_inserter(report.findings));
  }
  return report;
}

Finding Unreadable(manifests::Origin origin, const Error& error) {
  return {.code = error.code(), .origin = std::move(origin), .message = error.message(), .advice = error.advice()};
}

bool HasErrors(const Report& report) {
  return std::ranges::any_of(report.findings, [](const Finding& f) { return f.severity == Severity::kError; });
}

}  // namespace tessera::lint
