#include "driver/hardware.h"

#include <algorithm>

#include "journal/go_names.h"

namespace tessera::driver {

std::shared_ptr<const HardwareState> MakeHardwareState(std::shared_ptr<const device::Snapshot> snapshot,
                                                       cdi::Roots roots, Result<std::shared_ptr<const cdi::Spec>> base,
                                                       const std::string& hook_path) {
  auto state = std::make_shared<HardwareState>();
  state->snapshot = std::move(snapshot);
  state->roots = std::move(roots);
  for (const device::Device& device : state->snapshot->devices) {
    state->by_name.emplace(device.name, &device);
    const std::string& bus_id = device.gpu.bus_id;
    if (!state->graphics.contains(bus_id)) {
      state->graphics.emplace(bus_id, cdi::FindGraphics(state->roots, hook_path, bus_id));
    }
  }
  if (base) {
    state->base = *std::move(base);
  } else {
    state->base_error = std::move(base).error();
  }
  return state;
}

api::Hardware HardwareOf(const device::Device& device) {
  api::Hardware hardware{
      .gpu_uuid = device.gpu.uuid, .bus_id = device.gpu.bus_id, .gpu_minor = device.gpu.minor, .mig = std::nullopt};
  if (device.mig) {
    hardware.mig = api::MigHardware{.uuid = device.mig->uuid,
                                    .gpu_instance = device.mig->gpu_instance,
                                    .compute_instance = device.mig->compute_instance,
                                    .profile = device.mig->profile,
                                    .placement_start = device.mig->placement_start,
                                    .placement_size = device.mig->placement_size};
  }
  return hardware;
}

const device::Device* FindHardware(const HardwareState& state, const api::Hardware& hardware) {
  const auto found = std::ranges::find_if(state.snapshot->devices, [&](const device::Device& device) {
    if (device.gpu.uuid != hardware.gpu_uuid || device.mig.has_value() != hardware.mig.has_value()) return false;
    return !device.mig || device.mig->uuid == hardware.mig->uuid;
  });
  return found == state.snapshot->devices.end() ? nullptr : &*found;
}

const device::Device* FindNamed(const HardwareState& state, std::string_view name) {
  if (const auto found = state.by_name.find(name); found != state.by_name.end()) return found->second;
  const auto old = journal::ParseGoDeviceName(name);
  if (!old || !old->is_mig || old->placement_size == 0) return nullptr;
  const auto found = std::ranges::find_if(state.snapshot->devices, [&](const device::Device& device) {
    return device.mig && device.gpu.minor == old->gpu_minor && device.mig->placement_start == old->placement_start &&
           device.mig->placement_size == old->placement_size;
  });
  return found == state.snapshot->devices.end() ? nullptr : &*found;
}

std::optional<api::PreparedClaim> Identify(const api::PreparedClaim& claim, const HardwareState& hardware) {
  std::optional<api::PreparedClaim> identified;
  for (std::size_t i = 0; i < claim.devices.size(); ++i) {
    const api::PreparedDevice& device = claim.devices[i];
    if (!device.hardware.gpu_uuid.empty()) continue;
    const auto& devices = hardware.snapshot->devices;
    const auto found = std::ranges::find_if(devices, [&](const device::Device& candidate) {
      if (device.hardware.mig) return candidate.mig && candidate.mig->uuid == device.hardware.mig->uuid;
      return candidate.name == device.name;
    });
    if (found == devices.end()) continue;
    if (!identified) identified = claim;
    identified->devices[i].hardware = HardwareOf(*found);
  }
  return identified;
}

namespace {

// A driver that is missing or does not answer may come back; a claim waits for it, whatever kind the fault is.
std::unexpected<Error> NotNow(const std::optional<Error>& failure) {
  if (failure) return Transient(failure->code(), failure->message(), failure->advice());
  return Transient("HardwareNotRead", "the GPUs have not been read yet", "the first scan is still running");
}

}  // namespace

std::shared_ptr<const HardwareState> Hardware::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Result<std::shared_ptr<const HardwareState>> Hardware::WaitForState(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return state_ != nullptr || failure_.has_value(); });
  if (state_) return state_;
  return NotNow(failure_);
}

Result<std::shared_ptr<const HardwareState>> Hardware::WaitForRescan(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const std::uint64_t scan = begun_ + 1;
  wanted_ = true;
  changed_.notify_all();
  changed_.wait_until(lock, deadline, [&] { return ended_ >= scan; });
  if (state_) return state_;
  return NotNow(failure_);
}

void Hardware::Set(std::shared_ptr<const HardwareState> state) {
  {
    const std::lock_guard lock(mutex_);
    state_ = std::move(state);
    failure_.reset();
    ended_ = begun_;
  }
  changed_.notify_all();
}

void Hardware::Fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = error;
    ended_ = begun_;
  }
  changed_.notify_all();
}

std::optional<Error> Hardware::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Hardware::AwaitScan(std::chrono::milliseconds timeout, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, timeout, [this] { return wanted_; });
  wanted_ = false;
  ++begun_;
}

}  // namespace tessera::driver
