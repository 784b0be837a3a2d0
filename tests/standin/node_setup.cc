#include "tests/standin/node_setup.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::standin {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";

bool HasDevices(const json::Value& slice) {
  const json::Value* devices = slice.at("spec").as_object().if_contains("devices");
  return devices != nullptr && !devices->as_array().empty();
}

std::string MetadataOf(const json::Value& object, std::string_view field) {
  return std::string(object.at("metadata").at(field).as_string());
}

}  // namespace

Result<std::unique_ptr<NodeSetup>> NodeSetup::Make(NodeOptions options) {
  std::unique_ptr<NodeSetup> node(new NodeSetup(std::move(options)));
  const fs::path& dir = node->options_.dir;
  for (const char* folder : {"plugins", "plugins_registry", "pod-resources", "cdi"}) {
    std::error_code error;
    fs::create_directories(dir / folder, error);
    if (error) return FromErrno(error.value(), "NoDirectory", Format("making {}", (dir / folder).string()));
  }
  TESSERA_ASSIGN(node->api_, ApiServer::Start({.versions = node->options_.versions}));
  node->api_->MakeNode(node->options_.name);
  TESSERA_TRY(node->api_->WriteKubeconfig(node->kubeconfig()));
  node->kubelet_ = std::make_unique<tests::Kubelet>(
      tests::Kubelet::Options{.registry = dir / "plugins_registry",
                              .pod_resources = dir / "pod-resources/kubelet.sock",
                              .on_wipe = [setup = node.get()](const std::string&) { setup->WipeSlices(); }});
  return node;
}

std::vector<std::string> NodeSetup::PluginFlags(const fs::path& driver_root) const {
  const std::string root = driver_root.string();
  return {"--node-name=" + options_.name,
          "--kubeconfig=" + kubeconfig().string(),
          "--nvidia-driver-root=" + root,
          "--container-driver-root=" + root,
          "--sysfs-root=" + (driver_root / "sys").string(),
          "--procfs-root=" + (driver_root / "proc").string(),
          "--cdi-root=" + cdi_dir().string(),
          "--kubelet-registrar-directory-path=" + (options_.dir / "plugins_registry").string(),
          "--kubelet-plugins-directory-path=" + (options_.dir / "plugins").string()};
}

bool NodeSetup::WaitRegistered(std::chrono::milliseconds timeout) const {
  return kubelet_->WaitForInstances(kDriverName, 1, timeout);
}

bool NodeSetup::WaitPublished(std::chrono::milliseconds timeout) {
  const auto published = [](const std::vector<json::Value>& slices) { return std::ranges::any_of(slices, HasDevices); };
  return api_->WaitObjects(kSlices, published, timeout);
}

void NodeSetup::WipeSlices() { (void)api_->DeleteCollection(kSlices, "spec.nodeName=" + options_.name); }

tests::Kubelet::Claim NodeSetup::MakeClaim(const std::string& name, const std::vector<std::string>& devices,
                                           bool admin_access) {
  ClaimOptions options{.name = name, .pod = "pod-of-" + name, .node = options_.name};
  for (const std::string& device : devices) {
    options.devices.push_back({.pool = options_.name, .device = device, .admin_access = admin_access});
  }
  const json::Value claim = api_->MakeClaim(options);
  return {MetadataOf(claim, "namespace"), MetadataOf(claim, "name"), MetadataOf(claim, "uid")};
}

std::string NodeSetup::ClaimPath(const tests::Kubelet::Claim& claim) {
  return Format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}", claim.namespace_name, claim.name);
}

Result<void> NodeSetup::DeleteClaim(const tests::Kubelet::Claim& claim) { return api_->Delete(ClaimPath(claim)); }

}  // namespace tessera::standin
