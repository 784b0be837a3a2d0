#include "manifests/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::manifests {
namespace {

using ::testing::HasSubstr;

Result<Objects> Read(std::string_view text, const std::string& default_namespace = "default") {
  TESSERA_ASSIGN(const auto manifests, ParseManifests(text, "f.yaml"));
  Objects objects{.default_namespace = default_namespace};
  for (const Manifest& manifest : manifests) TESSERA_TRY(objects.Add(manifest));
  return objects;
}

TEST(Objects, PutsEachKindWhereItBelongsAndPassesOverOthers) {
  const auto objects = Read(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: k}
spec: {selectors: [{cel: {expression: "true"}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: r}
spec: {deviceSelector: {pool: p}, taint: {key: x, effect: NoSchedule}}
---
{apiVersion: v1, kind: Node, metadata: {name: node-x, labels: {zone: a}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}
---
{apiVersion: example.com/v1, kind: Pod, metadata: {name: not-a-pod}}
)");
  ASSERT_TRUE(objects.has_value()) << objects.error().Text();
  ASSERT_EQ(objects->classes.size(), 1U);
  EXPECT_EQ(objects->classes[0].object.selectors.at(0).cel, "true");
  ASSERT_EQ(objects->taint_rules.size(), 1U);
  EXPECT_EQ(objects->taint_rules[0].pool, "p");
  EXPECT_FALSE(objects->taint_rules[0].driver.has_value());
  EXPECT_TRUE(objects->taint_rules[0].has_selector);
  ASSERT_EQ(objects->nodes.size(), 1U);
  EXPECT_EQ(objects->nodes[0].labels.at("zone"), "a");
  ASSERT_EQ(objects->others.size(), 2U);
  EXPECT_EQ(objects->others[0].kind, "ConfigMap");
  EXPECT_TRUE(objects->pods.empty());
}

TEST(Objects, ARuleWithAnEmptySelectorIsNotOneWithout) {
  constexpr std::string_view kRule =
      "{{apiVersion: resource.k8s.io/v1, kind: DeviceTaintRule, metadata: {{name: r}}, spec: {{{}taint: {{key: x, "
      "effect: NoSchedule}}}}}}";
  EXPECT_TRUE(Read(Format(kRule, "deviceSelector: {}, ")).value().taint_rules.at(0).has_selector);
  EXPECT_FALSE(Read(Format(kRule, "")).value().taint_rules.at(0).has_selector);
  EXPECT_FALSE(Read(Format(kRule, "deviceSelector: null, ")).value().taint_rules.at(0).has_selector);
}

TEST(Objects, ReadsClaimsOfEveryVersionAlike) {
  for (const std::string_view version : {"v1", "v1beta2", "v1beta1"}) {
    const bool flat = version == "v1beta1";
    const auto objects =
        Read(Format(R"(
apiVersion: resource.k8s.io/{0}
kind: ResourceClaim
metadata: {{name: a}}
spec: {{devices: {{requests: [{{name: r, {1}}}]}}}}
---
apiVersion: resource.k8s.io/{0}
kind: ResourceClaimTemplate
metadata: {{name: t, namespace: other}}
spec: {{spec: {{devices: {{requests: [{{name: r, {1}}}]}}}}}}
)",
                    version, flat ? "deviceClassName: k, count: 2" : "exactly: {deviceClassName: k, count: 2}"),
             "mine");
    ASSERT_TRUE(objects.has_value()) << objects.error().Text();
    const Claim& claim = objects->claims.at(0);
    EXPECT_EQ(api::ToText(claim.object.ref), "mine/a");
    ASSERT_TRUE(claim.spec.requests.at(0).exactly.has_value()) << version;
    EXPECT_EQ(claim.spec.requests[0].exactly->count, 2);
    const ClaimTemplate& made = objects->templates.at(0);
    EXPECT_EQ(made.namespace_name, "other");
    EXPECT_EQ(made.spec.requests.at(0).exactly.value().device_class, "k");
  }
}

TEST(Objects, ReadsSlicesOfEveryVersionAlike) {
  for (const std::string_view version : {"v1", "v1beta2", "v1beta1"}) {
    const std::string_view facts = "attributes: {x: {int: 3}}";
    const auto objects =
        Read(Format("{{apiVersion: resource.k8s.io/{}, kind: ResourceSlice, metadata: {{name: s}}, spec: {{driver: d, "
                    "nodeName: node-x, "
                    "pool: {{name: p, generation: 1, resourceSliceCount: 1}}, devices: [{{name: g, {}}}]}}}}",
                    version, version == "v1beta1" ? Format("basic: {{{}}}", facts) : std::string(facts)));
    ASSERT_TRUE(objects.has_value()) << objects.error().Text();
    EXPECT_EQ(objects->slices.at(0).object.devices.at(0).attributes.at("x"), api::Attribute(std::int64_t{3}))
        << version;
  }
}

TEST(Objects, ReadsWhatTheClusterKnowsOfAClaim) {
  const auto objects = Read(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: a
  namespace: x
  uid: u1
  deletionTimestamp: "2026-01-01T00:00:00Z"
  ownerReferences: [{apiVersion: v1, kind: Pod, name: web, uid: p1}]
spec: {devices: {}}
status:
  allocation: {devices: {results: [{request: r, driver: d, pool: p, device: g}]}}
  reservedFor: [{resource: pods, name: web, uid: p1}]
  devices:
  - {driver: d, pool: p, device: g, conditions: [{type: Ready, status: "False", reason: Bad, message: not ready}]}
)");
  ASSERT_TRUE(objects.has_value()) << objects.error().Text();
  const Claim& claim = objects->claims.at(0);
  EXPECT_TRUE(claim.deleting);
  EXPECT_EQ(claim.owner_pod, "web");
  EXPECT_EQ(claim.owner_pod_uid, "p1");
  EXPECT_EQ(claim.object.allocation.value().results.at(0).device, "g");
  EXPECT_THAT(claim.object.reserved_for, testing::ElementsAre("x/web"));
  EXPECT_EQ(claim.devices.at(0).conditions.at(0).reason, "Bad");
}

TEST(Objects, ReadsPodsAndThePodsOfWorkloads) {
  constexpr std::string_view kSpec =
      "resourceClaims: [{name: g, resourceClaimTemplateName: t}], containers: [{name: c, resources: {claims: [{name: "
      "g, "
      "request: r}], limits: {cpu: 1, nvidia.com/gpu: 2, hugepages-2Mi: 1}}}]";
  const auto objects = Read(Format(
      "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{nodeSelector: {{a: b}}, {0}}}, status: {{phase: "
      "Pending, "
      "resourceClaimStatuses: [{{name: g, resourceClaimName: p-g-1}}, {{name: none}}], conditions: [{{type: "
      "PodScheduled, "
      "status: \"False\", message: no luck}}]}}}}\n---\n"
      "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d}}, spec: {{template: {{spec: {{{0}}}}}}}}}\n---\n"
      "{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: j}}, spec: {{jobTemplate: {{spec: {{template: {{spec: "
      "{{{0}}}}}}}}}}}}}\n",
      kSpec));
  ASSERT_TRUE(objects.has_value()) << objects.error().Text();
  const Pod& pod = objects->pods.at(0);
  EXPECT_EQ(pod.made_claims.at("g"), "p-g-1");
  EXPECT_EQ(pod.made_claims.at("none"), std::nullopt);
  EXPECT_EQ(pod.unscheduled_message, "no luck");
  EXPECT_EQ(pod.spec.node_selector.at("a"), "b");
  ASSERT_EQ(objects->workloads.size(), 2U);
  for (const PodSpec* spec : {&pod.spec, &objects->workloads[0].pod, &objects->workloads[1].pod}) {
    EXPECT_EQ(spec->claims.at(0).template_name, "t");
    EXPECT_EQ(spec->containers.at(0).claims.at(0).request, "r");
    EXPECT_THAT(spec->containers[0].extended_resources, testing::ElementsAre("nvidia.com/gpu"));
  }
}

TEST(Objects, ReadsTaintsOfNodesAndWhoToleratesThem) {
  const auto objects = Read(R"(
{apiVersion: v1, kind: Node, metadata: {name: tainted}, spec: {taints: [{key: dedicated, value: ml, effect: NoSchedule}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {tolerations: [{key: dedicated, operator: Exists}]}}
)");
  ASSERT_TRUE(objects.has_value()) << objects.error().Text();
  EXPECT_THAT(objects->nodes.at(0).taints,
              testing::ElementsAre(api::Taint{.key = "dedicated", .value = "ml", .effect = "NoSchedule"}));
  EXPECT_EQ(objects->pods.at(0).spec.tolerations.at(0).op, "Exists");
}

TEST(Objects, ReadsEventsOfBothRecorders) {
  const auto objects = Read(R"(
apiVersion: v1
kind: Event
metadata: {name: e1}
involvedObject: {kind: Pod, namespace: x, name: p}
type: Warning
reason: FailedPrepareDynamicResources
message: not ready
source: {component: kubelet, host: n1}
count: 7
lastTimestamp: "2026-01-02T00:00:00Z"
---
apiVersion: v1
kind: Event
metadata: {name: e2}
involvedObject: {kind: Pod, namespace: x, name: p}
reportingComponent: default-scheduler
eventTime: "2026-01-01T00:00:00.000000Z"
series: {count: 3, lastObservedTime: "2026-01-03T00:00:00.000000Z"}
)");
  ASSERT_TRUE(objects.has_value()) << objects.error().Text();
  EXPECT_EQ(objects->events.at(0).component, "kubelet");
  EXPECT_EQ(objects->events[0].count, 7);
  EXPECT_EQ(objects->events.at(1).component, "default-scheduler");
  EXPECT_EQ(objects->events[1].count, 3);
  EXPECT_EQ(objects->events[1].last_seen, "2026-01-03T00:00:00.000000Z");
}

TEST(Objects, RefusesWithTheFieldAndItsLine) {
  const auto objects = Read(
      "apiVersion: v1\nkind: Node\nmetadata: {name: node-x}\n---\napiVersion: resource.k8s.io/v1\nkind: "
      "ResourceClaim\nmetadata:\n"
      "  name: a\nspec:\n  devices:\n    requests:\n    - name: r\n      exactly:\n        deviceClassName: k\n        "
      "count: two\n");
  ASSERT_FALSE(objects.has_value());
  EXPECT_EQ(
      objects.error().message(),
      "f.yaml, document 2, line 15: ResourceClaim a: spec.devices.requests[0].exactly.count: expected integer, found "
      "\"two\"");
}

TEST(Objects, AWorkloadWithoutAPodTemplateIsRefused) {
  const auto objects = Read("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}");
  ASSERT_FALSE(objects.has_value());
  EXPECT_THAT(objects.error().message(), HasSubstr("spec.template.spec: required field is missing"));
}

}  // namespace
}  // namespace tessera::manifests
