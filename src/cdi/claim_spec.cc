#include "cdi/claim_spec.h"

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "cdi/nodes.h"
#include "cdi/root_dir.h"
#include "cdi/writer.h"

namespace tessera::cdi {
namespace {

constexpr std::size_t kMaxProcFile = std::size_t{64} << 10;

// The number after "<key>:" on a line of its own.
std::optional<unsigned> Field(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    const auto parts = Cut(line, ":");
    if (parts && Trim(parts->first) == key) return ParseNumber<unsigned>(Trim(parts->second));
  }
  return std::nullopt;
}

// The major that the kernel gave a character driver, from /proc/devices.
std::optional<unsigned> CharacterMajor(std::string_view proc_devices, std::string_view driver) {
  for (const std::string_view raw : Split(proc_devices, '\n')) {
    const std::string_view line = Trim(raw);
    if (line == "Block devices:") break;
    const auto parts = Cut(line, " ");
    if (parts && Trim(parts->second) == driver) return ParseNumber<unsigned>(parts->first);
  }
  return std::nullopt;
}

// Builds the edits of one claim's devices.
class Builder {
 public:
  Builder(const Roots& roots, const Graphics& graphics, RootDir dev)
      : roots_(roots), graphics_(graphics), dev_(std::move(dev)) {}

  Result<Edits> Build(const api::PreparedDevice& device) const {
    Edits edits;
    TESSERA_TRY(AddGpu(device, edits));
    const auto& mig = device.hardware.mig;
    // An instance can draw only when its profile says so.
    if (!mig || mig->profile.find("+gfx") != std::string::npos) AddGraphics(device.hardware.bus_id, edits);
    if (mig) TESSERA_TRY(AddCapabilities(device, *mig, edits));
    std::ranges::sort(edits.additional_gids);
    return edits;
  }

 private:
  Result<void> AddGpu(const api::PreparedDevice& device, Edits& edits) const {
    if (!device.hardware.gpu_minor) {
      return BadDevice("DeviceMinorUnknown", Format("the minor number of {} is not known", device.name),
                       "check that nvidia-smi lists the GPU");
    }
    const std::string path = Format("/dev/nvidia{}", *device.hardware.gpu_minor);
    const auto node = dev_.Find(path);
    if (!node) {
      return BadDevice("DeviceNodeMissing",
                       Format("{} needs {}, which is not below {}", device.name, path, roots_.dev.string()),
                       Format("make it with nvidia-modprobe -c {}, or check --dev-root", *device.hardware.gpu_minor));
    }
    AddNode(roots_, path, node->status, edits);
    return {};
  }

  void AddGraphics(const std::string& bus_id, Edits& edits) const {
    const auto found = graphics_.find(bus_id);
    if (found == graphics_.end()) return;
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(edits.device_nodes, found->second.device_nodes);
    append(edits.hooks, found->second.hooks);
    for (const auto gid : found->second.additional_gids) {
      if (std::ranges::find(edits.additional_gids, gid) == edits.additional_gids.end()) {
        edits.additional_gids.push_back(gid);
      }
    }
  }

  // The rights to use a GPU instance and its compute instance. Nobody need have made their nodes on the host, so the
  // runtime is told everything and makes them in the container.
  Result<void> AddCapabilities(const api::PreparedDevice& device, const api::MigHardware& mig, Edits& edits) const {
    const auto devices = ReadFile(roots_.procfs / "devices", kMaxProcFile);
    const auto major = devices.has_value() ? CharacterMajor(*devices, "nvidia-caps") : std::nullopt;
    if (!major) {
      return BadDevice("MigCapabilityMissing",
                       Format("{} needs the driver nvidia-caps, which {} does not list", device.name,
                              (roots_.procfs / "devices").string()),
                       "load the NVIDIA kernel module");
    }
    const std::string instance = Format("gpu{}/mig/gi{}", *device.hardware.gpu_minor, mig.gpu_instance);
    for (const std::string& folder : {instance, Format("{}/ci{}", instance, mig.compute_instance)}) {
      TESSERA_TRY(AddCapability(device, *major, folder, edits));
    }
    return {};
  }

  Result<void> AddCapability(const api::PreparedDevice& device, unsigned major, const std::string& folder,
                             Edits& edits) const {
    const auto path = roots_.procfs / "driver/nvidia/capabilities" / folder / "access";
    const auto text = ReadFile(path, kMaxProcFile);
    const auto minor = text.has_value() ? Field(*text, "DeviceFileMinor") : std::nullopt;
    const auto mode = text.has_value() ? Field(*text, "DeviceFileMode") : std::nullopt;
    if (!minor || !mode) {
      return BadDevice("MigCapabilityMissing",
                       Format("{} needs {}, which {}", device.name, path.string(),
                              text.has_value() ? "has no minor and mode" : "cannot be read"),
                       "check with nvidia-smi -L that the MIG device still exists");
    }
    edits.device_nodes.push_back({.path = Format("/dev/nvidia-caps/nvidia-cap{}", *minor),
                                  .type = "c",
                                  .major = major,
                                  .minor = *minor,
                                  .file_mode = *mode & 0777U});
    return {};
  }

  const Roots& roots_;
  const Graphics& graphics_;
  const RootDir dev_;
};

}  // namespace

Result<Spec> MakeClaimSpec(const Roots& roots, const Graphics& graphics, const api::PreparedClaim& claim) {
  auto dev = RootDir::Open(roots.dev);
  if (!dev.has_value()) {
    return BadDevice("DeviceNodeMissing", "the device nodes cannot be searched: " + dev.error().message(),
                     "check --dev-root");
  }
  const Builder builder(roots, graphics, std::move(*dev));
  Spec spec;
  spec.kind = kClaimKind;
  for (const api::PreparedDevice& device : claim.devices) {
    std::string name = ClaimDeviceName(claim.claim, device);
    // Two requests of a claim may have been given one device.
    if (std::ranges::find(spec.devices, name, &Device::name) != spec.devices.end()) continue;
    TESSERA_ASSIGN(Edits edits, builder.Build(device));
    spec.devices.push_back({std::move(name), std::move(edits)});
  }
  TESSERA_TRY(Validate(spec));
  return spec;
}

std::string ClaimDeviceName(const api::ClaimRef& claim, const api::PreparedDevice& device) {
  std::string name = claim.uid + "-" + device.name;
  if (device.share_id) name += "-" + *device.share_id;
  return name;
}

std::vector<std::string> CdiIds(const api::ClaimRef& claim, const api::PreparedDevice& device) {
  return {Format("{}={}", kClaimKind, ClaimDeviceName(claim, device)), Format("{}={}", kBaseKind, kBaseDevice)};
}

}  // namespace tessera::cdi
