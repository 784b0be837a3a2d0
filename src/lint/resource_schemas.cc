// The fields of resource.k8s.io, and of what refers to it in pods, as Kubernetes 1.34 to 1.37 have them.
#include <array>

#include "lint/schema.h"

namespace tessera::lint {
namespace {

using cel::Release;

constexpr Gate kTaints{.name = "DRADeviceTaints", .since = Release::k1_34, .default_on = Release::k1_36};
constexpr Gate kShares{.name = "DRAConsumableCapacity", .since = Release::k1_34, .default_on = Release::k1_36};
constexpr Gate kExtended{.name = "DRAExtendedResource", .since = Release::k1_34, .default_on = Release::k1_36};
constexpr Gate kPartitions{.name = "DRAPartitionableDevices", .since = Release::k1_34, .default_on = Release::k1_36};
constexpr Gate kBinding{.name = "DRADeviceBindingConditions", .since = Release::k1_34, .default_on = Release::k1_36};
constexpr Gate kLists{.name = "DRAListTypeAttributes", .since = Release::k1_36, .ever_on = false};
constexpr Gate kDerived{.name = "DRADerivedAttributes", .since = Release::k1_37, .ever_on = false};
constexpr Gate kPartitionTypes{.name = "DRAPartitionableDevicesType", .since = Release::k1_37, .ever_on = false};
constexpr Gate kSkipped{.name = "DRAOptionalNodeOperations", .since = Release::k1_37, .ever_on = false};
constexpr Gate kAllocatable{.name = "DRANodeAllocatableResources", .since = Release::k1_37, .ever_on = false};

constexpr std::array kMetadataFields{Field{"name", Shape::kText},
                                     Field{"generateName", Shape::kText},
                                     Field{"namespace", Shape::kText},
                                     Field{"labels", Shape::kMap},
                                     Field{"annotations", Shape::kMap},
                                     Field{"finalizers", Shape::kList},
                                     Field{"ownerReferences", Shape::kAny},
                                     Field{"managedFields", Shape::kAny},
                                     Field{"uid", Shape::kText},
                                     Field{"resourceVersion", Shape::kText},
                                     Field{"generation", Shape::kInteger},
                                     Field{"creationTimestamp", Shape::kAny},
                                     Field{"selfLink", Shape::kText},
                                     Field{"deletionTimestamp", Shape::kAny},
                                     Field{"deletionGracePeriodSeconds", Shape::kInteger}};
constexpr Schema kMetadata{kMetadataFields};

// ---- Selectors, tolerations, configs: the same in requests and classes.

constexpr std::array kCelFields{Field{"expression", Shape::kText, nullptr, true}};
constexpr Schema kCel{kCelFields};
constexpr std::array kSelectorFields{Field{"cel", Shape::kObject, &kCel, true}};
constexpr std::array kSelectorHints{Hint{"expression", "put it below `cel`: `- cel: {expression: …}`"}};
constexpr Schema kSelector{kSelectorFields, kSelectorHints};

constexpr std::array kTolerationFields{Field{"key", Shape::kText}, Field{"operator", Shape::kText},
                                       Field{"value", Shape::kText}, Field{"effect", Shape::kText},
                                       Field{"tolerationSeconds", Shape::kInteger}};
constexpr Schema kToleration{kTolerationFields};

constexpr std::array kCapacityFields{Field{"requests", Shape::kQuantities}};
constexpr Schema kCapacity{kCapacityFields};

constexpr std::array kOpaqueFields{Field{"driver", Shape::kText, nullptr, true},
                                   Field{"parameters", Shape::kObject, nullptr, true}};
constexpr Schema kOpaque{kOpaqueFields};

constexpr std::array kClassConfigFields{Field{"opaque", Shape::kObject, &kOpaque, true}};
constexpr Schema kClassConfig{kClassConfigFields};
constexpr std::array kClaimConfigFields{Field{"requests", Shape::kList, nullptr, false, 32},
                                        Field{"opaque", Shape::kObject, &kOpaque, true}};
constexpr Schema kClaimConfig{kClaimConfigFields};

// ---- Requests.

constexpr std::size_t kMostSelectors = 32;

constexpr std::array kSubRequestFields{Field{"name", Shape::kText, nullptr, true},
                                       Field{"deviceClassName", Shape::kText, nullptr, true},
                                       Field{"selectors", Shape::kList, &kSelector, false, kMostSelectors},
                                       Field{"allocationMode", Shape::kText},
                                       Field{"count", Shape::kInteger},
                                       Field{"tolerations", Shape::kList, &kToleration, false, 0, &kTaints},
                                       Field{"capacity", Shape::kObject, &kCapacity, false, 0, &kShares},
                                       Field{"derivedAttributes", Shape::kAny, nullptr, false, 0, &kDerived}};
constexpr std::array kSubRequestHints{Hint{"adminAccess", "admin access is for `exactly` alone"}};
constexpr Schema kSubRequest{kSubRequestFields, kSubRequestHints};

constexpr std::array kExactFields{Field{"deviceClassName", Shape::kText, nullptr, true},
                                  Field{"selectors", Shape::kList, &kSelector, false, kMostSelectors},
                                  Field{"allocationMode", Shape::kText},
                                  Field{"count", Shape::kInteger},
                                  Field{"adminAccess", Shape::kBool},
                                  Field{"tolerations", Shape::kList, &kToleration, false, 0, &kTaints},
                                  Field{"capacity", Shape::kObject, &kCapacity, false, 0, &kShares},
                                  Field{"derivedAttributes", Shape::kAny, nullptr, false, 0, &kDerived}};
constexpr Schema kExact{kExactFields};

constexpr std::string_view kBelowExactly = "that is the form of v1beta1; in v1 it stands below `exactly:`";
constexpr std::array kRequestFields{Field{"name", Shape::kText, nullptr, true},
                                    Field{"exactly", Shape::kObject, &kExact},
                                    Field{"firstAvailable", Shape::kList, &kSubRequest, false, 8}};
constexpr std::array kRequestHints{Hint{"deviceClassName", kBelowExactly}, Hint{"selectors", kBelowExactly},
                                   Hint{"count", kBelowExactly},           Hint{"allocationMode", kBelowExactly},
                                   Hint{"adminAccess", kBelowExactly},     Hint{"tolerations", kBelowExactly},
                                   Hint{"capacity", kBelowExactly}};
constexpr Schema kRequest{kRequestFields, kRequestHints};

// v1beta1 has what `exactly` holds beside the name. What is required depends on firstAvailable: claim_rules.cc.
constexpr std::array kFlatRequestFields{Field{"name", Shape::kText, nullptr, true},
                                        Field{"deviceClassName", Shape::kText},
                                        Field{"selectors", Shape::kList, &kSelector, false, kMostSelectors},
                                        Field{"allocationMode", Shape::kText},
                                        Field{"count", Shape::kInteger},
                                        Field{"adminAccess", Shape::kBool},
                                        Field{"tolerations", Shape::kList, &kToleration, false, 0, &kTaints},
                                        Field{"capacity", Shape::kObject, &kCapacity, false, 0, &kShares},
                                        Field{"firstAvailable", Shape::kList, &kSubRequest, false, 8}};
constexpr std::array kFlatRequestHints{Hint{"exactly", "that is the form of v1: say `apiVersion: resource.k8s.io/v1`"}};
constexpr Schema kFlatRequest{kFlatRequestFields, kFlatRequestHints};

// ---- Claims and templates.

constexpr std::array kConstraintFields{Field{"requests", Shape::kList, nullptr, false, 32},
                                       Field{"matchAttribute", Shape::kText},
                                       Field{"distinctAttribute", Shape::kText, nullptr, false, 0, &kShares}};
constexpr Schema kConstraint{kConstraintFields};

template <const Schema& kRequestSchema>
constexpr std::array kDevicesFields{Field{"requests", Shape::kList, &kRequestSchema, false, 32},
                                    Field{"constraints", Shape::kList, &kConstraint, false, 32},
                                    Field{"config", Shape::kList, &kClaimConfig, false, 32}};
constexpr std::array kDevicesHints{Hint{"configs", "did you mean config?"}};
template <const Schema& kRequestSchema>
constexpr Schema kDevices{kDevicesFields<kRequestSchema>, kDevicesHints};

template <const Schema& kRequestSchema>
constexpr std::array kSpecFields{Field{"devices", Shape::kObject, &kDevices<kRequestSchema>}};
constexpr std::array kSpecHints{Hint{"spec", "a claim has spec.devices; spec.spec.devices is a template's"},
                                Hint{"requests", "put it below `devices:`"}};
template <const Schema& kRequestSchema>
constexpr Schema kSpec{kSpecFields<kRequestSchema>, kSpecHints};

// A claim or class without a spec is taken, and asks for nothing or holds everything. Names: CheckMetadata().
template <const Schema& kSpecSchema, bool kNeedsSpec = false>
constexpr std::array kObjectFields{
    Field{"apiVersion", Shape::kText, nullptr, true}, Field{"kind", Shape::kText, nullptr, true},
    Field{"metadata", Shape::kObject, &kMetadata}, Field{"spec", Shape::kObject, &kSpecSchema, kNeedsSpec},
    Field{"status", Shape::kAny}};

constexpr std::array kTemplateMetadataFields{Field{"labels", Shape::kMap}, Field{"annotations", Shape::kMap},
                                             Field{"creationTimestamp", Shape::kAny}};
constexpr Schema kTemplateMetadata{kTemplateMetadataFields};
template <const Schema& kRequestSchema>
constexpr std::array kTemplateSpecFields{Field{"metadata", Shape::kObject, &kTemplateMetadata},
                                         Field{"spec", Shape::kObject, &kSpec<kRequestSchema>}};
constexpr std::array kTemplateSpecHints{Hint{"devices", "a template has spec.spec.devices"}};
template <const Schema& kRequestSchema>
constexpr Schema kTemplateSpec{kTemplateSpecFields<kRequestSchema>, kTemplateSpecHints};

// ---- Classes.

constexpr std::array kClassSpecFields{Field{"selectors", Shape::kList, &kSelector, false, kMostSelectors},
                                      Field{"config", Shape::kList, &kClassConfig, false, 32},
                                      Field{"extendedResourceName", Shape::kText, nullptr, false, 0, &kExtended}};
constexpr std::array kClassSpecHints{Hint{"suitableNodes", "gone since v1beta1: devices say which nodes reach them"}};
constexpr Schema kClassSpec{kClassSpecFields, kClassSpecHints};

// ---- Taint rules.

constexpr std::array kTaintFields{Field{"key", Shape::kText, nullptr, true}, Field{"value", Shape::kText},
                                  Field{"effect", Shape::kText, nullptr, true}, Field{"timeAdded", Shape::kText}};
constexpr Schema kTaint{kTaintFields};
constexpr std::array kTaintSelectorFields{Field{"driver", Shape::kText}, Field{"pool", Shape::kText},
                                          Field{"device", Shape::kText}};
constexpr std::array kTaintSelectorHints{Hint{"deviceClassName", "gone since 1.35: name driver, pool and device"},
                                         Hint{"selectors", "gone since 1.35: name driver, pool and device"}};
constexpr Schema kTaintSelector{kTaintSelectorFields, kTaintSelectorHints};
constexpr std::array kOldTaintSelectorFields{Field{"driver", Shape::kText}, Field{"pool", Shape::kText},
                                             Field{"device", Shape::kText}, Field{"deviceClassName", Shape::kText},
                                             Field{"selectors", Shape::kList, &kSelector, false, kMostSelectors}};
constexpr Schema kOldTaintSelector{kOldTaintSelectorFields};
template <const Schema& Selector>
constexpr std::array kTaintRuleSpecFields{Field{"deviceSelector", Shape::kObject, &Selector},
                                          Field{"taint", Shape::kObject, &kTaint, true}};
template <const Schema& Selector>
constexpr Schema kTaintRuleSpec{kTaintRuleSpecFields<Selector>};

// ---- Slices.

constexpr std::array kAttributeFields{Field{"int", Shape::kInteger},
                                      Field{"bool", Shape::kBool},
                                      Field{"string", Shape::kText},
                                      Field{"version", Shape::kText},
                                      Field{"ints", Shape::kAny, nullptr, false, 0, &kLists},
                                      Field{"bools", Shape::kAny, nullptr, false, 0, &kLists},
                                      Field{"strings", Shape::kList, nullptr, false, 0, &kLists},
                                      Field{"versions", Shape::kList, nullptr, false, 0, &kLists}};
constexpr std::array kAttributeHints{
    Hint{"quantity", "quantities are capacities: `capacity: {memory: {value: 24Gi}}`"}};
constexpr Schema kAttribute{kAttributeFields, kAttributeHints};
constexpr std::array kDeviceCapacityFields{Field{"value", Shape::kQuantity, nullptr, true},
                                           Field{"requestPolicy", Shape::kAny, nullptr, false, 0, &kShares}};
constexpr Schema kDeviceCapacity{kDeviceCapacityFields};
constexpr std::array kDeviceFields{Field{"name", Shape::kText, nullptr, true},
                                   Field{"attributes", Shape::kMap, &kAttribute},
                                   Field{"capacity", Shape::kMap, &kDeviceCapacity},
                                   Field{"consumesCounters", Shape::kAny, nullptr, false, 0, &kPartitions},
                                   Field{"nodeName", Shape::kText, nullptr, false, 0, &kPartitions},
                                   Field{"nodeSelector", Shape::kAny, nullptr, false, 0, &kPartitions},
                                   Field{"allNodes", Shape::kBool, nullptr, false, 0, &kPartitions},
                                   Field{"taints", Shape::kAny, nullptr, false, 0, &kTaints},
                                   Field{"bindsToNode", Shape::kBool, nullptr, false, 0, &kBinding},
                                   Field{"bindingConditions", Shape::kList, nullptr, false, 4, &kBinding},
                                   Field{"bindingFailureConditions", Shape::kList, nullptr, false, 4, &kBinding},
                                   Field{"allowMultipleAllocations", Shape::kBool, nullptr, false, 0, &kShares},
                                   Field{"nodeAllocatableResources", Shape::kAny, nullptr, false, 0, &kAllocatable}};
constexpr std::array kDeviceHints{Hint{"basic", "that is the form of v1beta1; in v1 its fields stand beside the name"}};
constexpr Schema kDevice{kDeviceFields, kDeviceHints};
constexpr std::array kPoolFields{Field{"name", Shape::kText, nullptr, true}, Field{"generation", Shape::kInteger},
                                 Field{"resourceSliceCount", Shape::kInteger, nullptr, true}};
constexpr Schema kPool{kPoolFields};
constexpr std::array kSliceSpecFields{
    Field{"driver", Shape::kText, nullptr, true},
    Field{"pool", Shape::kObject, &kPool, true},
    Field{"nodeName", Shape::kText},
    Field{"nodeSelector", Shape::kAny},
    Field{"allNodes", Shape::kBool},
    Field{"perDeviceNodeSelection", Shape::kBool, nullptr, false, 0, &kPartitions},
    Field{"devices", Shape::kList, &kDevice, false, 128},
    Field{"sharedCounters", Shape::kAny, nullptr, false, 0, &kPartitions},
    Field{"partitionTypeAttribute", Shape::kText, nullptr, false, 0, &kPartitionTypes},
    Field{"skipNodeOperations", Shape::kAny, nullptr, false, 0, &kSkipped}};
constexpr Schema kSliceSpec{kSliceSpecFields};

// ---- Pods.

constexpr std::array kPodClaimFields{Field{"name", Shape::kText, nullptr, true},
                                     Field{"resourceClaimName", Shape::kText},
                                     Field{"resourceClaimTemplateName", Shape::kText}};
constexpr std::array kPodClaimHints{
    Hint{"source", "since 1.31 resourceClaimName and resourceClaimTemplateName stand beside the name"},
    Hint{"claimName", "did you mean resourceClaimName?"},
    Hint{"templateName", "did you mean resourceClaimTemplateName?"}};
constexpr std::array kContainerClaimFields{Field{"name", Shape::kText, nullptr, true}, Field{"request", Shape::kText}};
constexpr std::array kContainerClaimHints{
    Hint{"resourceClaimName", "a container names an entry of the pod's resourceClaims: `- name: gpu`"}};

}  // namespace

constexpr Schema kClaimSchema{kObjectFields<kSpec<kRequest>>};
constexpr Schema kFlatClaimSchema{kObjectFields<kSpec<kFlatRequest>>};
constexpr Schema kTemplateSchema{kObjectFields<kTemplateSpec<kRequest>>};
constexpr Schema kFlatTemplateSchema{kObjectFields<kTemplateSpec<kFlatRequest>>};
constexpr Schema kClassSchema{kObjectFields<kClassSpec>};
constexpr Schema kTaintRuleSchema{kObjectFields<kTaintRuleSpec<kTaintSelector>>};
constexpr Schema kOldTaintRuleSchema{kObjectFields<kTaintRuleSpec<kOldTaintSelector>>};
constexpr Schema kSliceSchema{kObjectFields<kSliceSpec, true>};
constexpr Schema kPodClaimSchema{kPodClaimFields, kPodClaimHints};
constexpr Schema kContainerClaimSchema{kContainerClaimFields, kContainerClaimHints};

}  // namespace tessera::lint
