#include "driver/inventory_loop.h"

#include <pthread.h>

#include <algorithm>
#include <map>

#include "base/log.h"

namespace tessera::driver {
namespace fs = std::filesystem;

bool IsBelow(const fs::path& path, const fs::path& root) {
  const fs::path above = root.lexically_normal();
  const fs::path below = path.lexically_normal();
  const auto end = std::ranges::mismatch(above, below).in1;
  return end == above.end() || end->empty();  // A trailing slash is an empty component.
}

InventoryLoop::InventoryLoop(Options options, Hardware& hardware, cdi::Writer& writer, Metrics& metrics,
                             std::function<void()> on_scan)
    : options_(std::move(options)),
      hardware_(hardware),
      writer_(writer),
      metrics_(metrics),
      on_scan_(std::move(on_scan)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

InventoryLoop::~InventoryLoop() = default;

void InventoryLoop::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "inventory");
  nvml::HostOptions host = options_.host;
  for (const DriverRoot& root : options_.roots) host.driver_roots.push_back(root.here);
  nvml::HostedLibrary library(std::move(host));  // On this thread: the host dies with the thread that started it.
  device::Inventory inventory(library, options_.sysfs);
  for (std::chrono::milliseconds wait{0}; !stop.stop_requested();) {
    hardware_.AwaitScan(wait, stop);
    if (stop.stop_requested()) return;
    const Result<void> scanned = Scan(inventory);
    metrics_.scans.With({scanned ? "ok" : "error"}).Add();
    (*metrics_.driver_up).Set(scanned ? 1 : 0);
    if (!scanned) {
      hardware_.Fail(scanned.error());
      log::Failure(scanned.error(), "The NVIDIA driver does not answer; claims wait until it does");
    } else if (failing_) {
      log::Info("The NVIDIA driver answers again");
    }
    failing_ = !scanned;
    on_scan_();
    wait = scanned ? options_.interval : options_.missing_interval;
  }
}

Result<void> InventoryLoop::Scan(device::Inventory& inventory) {
  TESSERA_ASSIGN(const device::Inventory::Scan scan, inventory.Rescan());
  const cdi::Roots roots = RootsOf(scan.library);
  auto base = BaseSpec(roots, scan.snapshot->driver_version);
  if (!base) {
    log::Failure(base.error(), "The driver's files for containers could not be found");
  } else if (auto put = options_.writes_base ? writer_.EnsureBase(*base) : Result<bool>(false); !put) {
    log::Failure(put.error(), "Could not write the base CDI spec");
  }
  if (scan.changed) {
    log::Info("Found devices", {{"devices", scan.snapshot->devices.size()},
                                {"withheld", scan.snapshot->withheld.size()},
                                {"driverVersion", scan.snapshot->driver_version},
                                {"driverRoot", roots.driver_host.string()}});
    for (const device::Withheld& withheld : scan.snapshot->withheld) {
      log::Warning("Device is not offered",
                   {{"device", withheld.name}, {"code", withheld.code}, {"reason", withheld.reason}});
    }
  }
  auto snapshot = std::make_shared<const device::Snapshot>(options_.excluded.Apply(*scan.snapshot));
  Count(*snapshot);
  hardware_.Set(MakeHardwareState(std::move(snapshot), roots, std::move(base), options_.hook_path));
  return {};
}

cdi::Roots InventoryLoop::RootsOf(const fs::path& library) const {
  // The longest match: "/" is above everything. A bare name was found by the loader, so on this very system.
  const DriverRoot* best = &options_.roots.front();
  for (const DriverRoot& root : options_.roots) {
    if (IsBelow(library, root.here) && root.here.native().size() >= best->here.native().size()) best = &root;
  }
  const fs::path dev = options_.dev_root.value_or(cdi::DevRoot(best->here));
  return {.driver = best->here,
          .driver_host = best->host,
          .dev = dev,
          .dev_host = dev == best->here ? best->host : dev,
          .sysfs = options_.sysfs,
          .procfs = options_.procfs};
}

Result<std::shared_ptr<const cdi::Spec>> InventoryLoop::BaseSpec(const cdi::Roots& roots,
                                                                 const std::string& driver_version) {
  const bool known = base_ && files_root_ == roots.driver && files_->version == driver_version &&
                     files_->fingerprint == cdi::Fingerprint(roots, *files_);
  if (known) return base_;
  base_.reset();
  TESSERA_ASSIGN(files_, cdi::FindDriverFiles(roots, driver_version));
  files_root_ = roots.driver;
  TESSERA_ASSIGN(cdi::Spec base, cdi::MakeBaseSpec(roots, *files_, options_.hook_path));
  base_ = std::make_shared<const cdi::Spec>(std::move(base));
  log::Info(
      "Found the driver's files",
      {{"libraries", files_->libraries.size()}, {"binaries", files_->binaries.size()}, {"version", files_->version}});
  return base_;
}

void InventoryLoop::Count(const device::Snapshot& snapshot) {
  const auto migs = std::ranges::count_if(snapshot.devices, [](const device::Device& d) { return d.mig.has_value(); });
  metrics_.devices.With({"mig"}).Set(static_cast<double>(migs));
  metrics_.devices.With({"gpu"}).Set(static_cast<double>(snapshot.devices.size()) - static_cast<double>(migs));
  metrics_.withheld.Clear();
  for (const device::Withheld& withheld : snapshot.withheld) metrics_.withheld.With({withheld.code}).Add(1);
}

}  // namespace tessera::driver
