#include "device/slices.h"

#include <algorithm>

#include "base/text.h"
#include "nvml/vet.h"

namespace tessera::device {
namespace {

// Collects what is known; what is not known is not published.
class Attributes {
 public:
  explicit Attributes(api::Device& device) : device_(device) {}

  void Text(std::string name, std::string_view value) {
    if (!value.empty()) device_.attributes[std::move(name)] = std::string(Clip(value, api::kMaxAttributeValue));
  }
  void Version(std::string name, const std::string& value) {
    // A version cut short would be another version.
    if (value.empty() || value.size() > api::kMaxAttributeValue) return;
    device_.attributes[std::move(name)] = api::Version{value};
  }
  void Number(std::string name, std::optional<std::int64_t> value) {
    if (value) device_.attributes[std::move(name)] = *value;
  }
  void Flag(std::string name, std::optional<bool> value) {
    if (value) device_.attributes[std::move(name)] = *value;
  }

 private:
  api::Device& device_;
};

// What a GPU and its MIG devices share. Bare names belong to our own domain; monitoring tools look for them bare.
void AddBoard(const Snapshot& snapshot, const Gpu& gpu, Attributes& add) {
  add.Text("productName", gpu.product_name);
  add.Text("brand", gpu.brand);
  add.Text("architecture", gpu.architecture);
  add.Version("cudaComputeCapability", gpu.compute_capability);
  add.Version("driverVersion", snapshot.driver_semver);
  add.Version("cudaDriverVersion", snapshot.cuda_driver_version);
  add.Text("addressingMode", gpu.addressing_mode);
  if (IsStandardBusId(gpu.bus_id)) {
    add.Text("resource.kubernetes.io/pciBusID", gpu.bus_id);
    add.Text("pcieBusID", gpu.bus_id);  // Its name up to v25.8.1 of the Go driver, and in the guide.
  }
  add.Text("resource.kubernetes.io/pcieRoot", gpu.place.root);
  add.Number("resource.kubernetes.io/numaNode", gpu.place.numa_node);
  add.Flag("eccEnabled", gpu.ecc);
  add.Flag("persistenceMode", gpu.persistence);
  add.Number("pcieGeneration", gpu.pcie_generation);
  add.Number("pcieWidth", gpu.pcie_width);
  if (gpu.module_id != 0U) add.Number("gpuModuleID", gpu.module_id);
  add.Text("serial", gpu.serial);
}

void AddFullGpu(const Gpu& gpu, api::Device& device, Attributes& add) {
  add.Text("type", "gpu");
  add.Text("uuid", gpu.uuid);
  add.Text("nvlinkIsland", gpu.nvlink_island);
  if (gpu.nvlink_count > 0) add.Number("nvlinkCount", gpu.nvlink_count);
  add.Version("nvlinkVersion", gpu.nvlink_version);
  add.Flag("nvswitch", gpu.nvswitch);
  if (gpu.memory_bytes) device.capacity["memory"] = Quantity::FromBytes(static_cast<std::int64_t>(*gpu.memory_bytes));
}

void AddMig(const Gpu& gpu, const Mig& mig, api::Device& device, Attributes& add) {
  add.Text("type", "mig");
  add.Text("uuid", mig.uuid);
  add.Text("parentUUID", gpu.uuid);
  add.Text("profile", mig.profile);
  add.Text("migProfile", mig.profile);  // The guide's name for it.
  device.capacity["memory"] = Quantity::FromBytes(static_cast<std::int64_t>(mig.memory_bytes));
  device.capacity["multiprocessors"] = Quantity::FromInteger(mig.multiprocessors);
  device.capacity["copyEngines"] = Quantity::FromInteger(mig.copy_engines);
  device.capacity["decoders"] = Quantity::FromInteger(mig.decoders);
  device.capacity["encoders"] = Quantity::FromInteger(mig.encoders);
  device.capacity["jpegEngines"] = Quantity::FromInteger(mig.jpegs);
  device.capacity["ofaEngines"] = Quantity::FromInteger(mig.ofas);
  for (unsigned i = 0; i < mig.placement_size; ++i) {
    device.capacity[Format("memorySlice{}", mig.placement_start + i)] = Quantity::FromInteger(1);
  }
}

}  // namespace

api::Device MakeApiDevice(const Snapshot& snapshot, const Device& device) {
  api::Device out;
  out.name = device.name;
  Attributes add(out);
  AddBoard(snapshot, device.gpu, add);
  if (device.mig) {
    AddMig(device.gpu, *device.mig, out, add);
  } else {
    AddFullGpu(device.gpu, out, add);
  }
  for (const std::string_view name : kLeftOutFirst) {
    if (out.attributes.size() + out.capacity.size() <= api::kMaxAttributesAndCapacities) break;
    out.attributes.erase(std::string(name));
  }
  // No GPU of today has so many memory slices; one that does still gets a valid device.
  for (unsigned slice = nvml::kMostSlices * 2; slice-- > 0;) {
    if (out.attributes.size() + out.capacity.size() <= api::kMaxAttributesAndCapacities) break;
    out.capacity.erase(Format("memorySlice{}", slice));
  }
  return out;
}

std::string SliceNamePrefix(std::size_t index, std::string_view node_name) {
  return Format("{:05x}-{}-{}-", index, kDriverName, node_name);
}

std::vector<api::ResourceSlice> MakeSlices(std::vector<api::Device> devices, const Pool& pool) {
  const std::size_t count = std::max<std::size_t>(1, (devices.size() + kDevicesPerSlice - 1) / kDevicesPerSlice);
  std::vector<api::ResourceSlice> slices(count);
  for (std::size_t i = 0; i < count; ++i) {
    api::ResourceSlice& slice = slices[i];
    slice.generate_name = SliceNamePrefix(i, pool.node_name);
    slice.owner = pool.owner;
    slice.driver = kDriverName;
    slice.node_name = pool.node_name;
    slice.pool_name = pool.node_name;
    slice.pool_generation = pool.generation;
    slice.pool_slice_count = static_cast<std::int64_t>(count);
    const std::size_t end = std::min(devices.size(), (i + 1) * kDevicesPerSlice);
    for (std::size_t d = i * kDevicesPerSlice; d < end; ++d) slice.devices.push_back(std::move(devices[d]));
  }
  return slices;
}

std::vector<api::ResourceSlice> MakeSlices(const Snapshot& snapshot, const Pool& pool) {
  std::vector<api::Device> devices;
  for (const Device& device : snapshot.devices) devices.push_back(MakeApiDevice(snapshot, device));
  return MakeSlices(std::move(devices), pool);
}

}  // namespace tessera::device
