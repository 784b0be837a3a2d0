#include "tests/explain/big_cluster.h"

#include "base/text.h"
#include "json/value.h"

namespace tessera::tests {
namespace {

constexpr int kNodes = 625, kGpus = 8;

enum class NodeKind : std::uint8_t { kHeld, kOther, kTainted };

NodeKind KindOf(int node) {
  if (node % 125 == 7) return NodeKind::kTainted;
  return node % 5 == 0 ? NodeKind::kOther : NodeKind::kHeld;
}

json::Value Gpu(NodeKind kind, int number) {
  const bool other = kind == NodeKind::kOther;
  json::Object device{{"name", Format("gpu-{}", number)},
                      {"attributes",
                       {{"type", {{"string", "gpu"}}},
                        {"productName", {{"string", other ? "NVIDIA A100-SXM4-80GB" : "NVIDIA H100 80GB HBM3"}}}}},
                      {"capacity", {{"memory", {{"value", "80Gi"}}}}}};
  if (kind == NodeKind::kTainted && number == 0) {
    device["taints"] = json::Array{{{"key", "gpu.nvidia.com/xid"}, {"value", "79"}, {"effect", "NoExecute"}}};
  }
  return device;
}

json::Value Slice(const std::string& node, json::Array devices) {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceSlice"},
          {"metadata", {{"name", node + "-gpus"}}},
          {"spec",
           {{"driver", "gpu.nvidia.com"},
            {"nodeName", node},
            {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
            {"devices", std::move(devices)}}}};
}

json::Value Node(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}};
}

std::string List(json::Array items) {
  return json::PrintYaml(json::Object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}});
}

// One claim has all GPUs of a node.
json::Value Holder(const std::string& node) {
  json::Array results;
  for (int i = 0; i < kGpus; ++i) {
    results.push_back(
        {{"request", "gpus"}, {"driver", "gpu.nvidia.com"}, {"pool", node}, {"device", Format("gpu-{}", i)}});
  }
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", {{"name", "of-" + node}, {"namespace", "team"}, {"uid", "u-" + node}}},
          {"spec", {{"devices", json::Object()}}},
          {"status", {{"allocation", {{"devices", {{"results", std::move(results)}}}}}}}};
}

}  // namespace

std::string BigCluster() {
  json::Array items;
  for (int i = 1; i <= kNodes; ++i) {
    const std::string name = Format("node-{:03}", i);
    const NodeKind kind = KindOf(i);
    json::Array devices;
    for (int gpu = 0; gpu < kGpus; ++gpu) devices.push_back(Gpu(kind, gpu));
    items.push_back(Node(name));
    items.push_back(Slice(name, std::move(devices)));
    if (kind == NodeKind::kHeld) items.push_back(Holder(name));
  }
  return List(std::move(items));
}

std::string MixedCluster() {
  constexpr unsigned kMixedNodes = 60, kKinds = 12;
  json::Array items;
  for (unsigned i = 0; i < kMixedNodes; ++i) {
    const unsigned tainted = i % kKinds + 1;  // As bits: no two kinds have the same ones.
    json::Array devices;
    for (unsigned gpu = 0; gpu < kGpus; ++gpu) {
      json::Object device{{"name", Format("gpu-{}", gpu)},
                          {"attributes", {{"type", {{"string", "gpu"}}}, {"index", {{"int", gpu}}}}}};
      if ((tainted >> gpu & 1U) != 0) device["taints"] = json::Array{{{"key", "xid"}, {"effect", "NoSchedule"}}};
      devices.push_back(std::move(device));
    }
    const std::string name = Format("node-{:02}", i);
    items.push_back(Node(name));
    items.push_back(Slice(name, std::move(devices)));
  }
  return List(std::move(items));
}

}  // namespace tessera::tests
