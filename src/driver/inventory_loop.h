// driver/inventory_loop.h: reads the hardware again and again, and keeps the base CDI spec in line with the driver.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cdi/driver_files.h"
#include "cdi/writer.h"
#include "device/inventory.h"
#include "driver/excluded_devices.h"
#include "driver/hardware.h"
#include "driver/metrics.h"
#include "nvml/hosted_library.h"

namespace tessera::driver {

// A place where the driver may be, as this process sees it and as the host does.
struct DriverRoot {
  std::filesystem::path here, host;

  bool operator==(const DriverRoot&) const = default;
};

class InventoryLoop {
 public:
  struct Options {
    std::vector<DriverRoot> roots;                  // Tried in this order.
    std::optional<std::filesystem::path> dev_root;  // Otherwise it follows from the driver root.
    std::filesystem::path sysfs = "/sys", procfs = "/proc";
    std::string hook_path;
    ExcludedDevices excluded;
    nvml::HostOptions host = {};
    std::chrono::milliseconds interval{30'000};
    std::chrono::milliseconds missing_interval{10'000};  // While there is no driver: also how often we say so.
    bool writes_base = true;                             // Whether the base CDI spec is ours to write.
  };
  // `on_scan` is called on the loop's thread after each scan, also a failed one.
  InventoryLoop(Options options, Hardware& hardware, cdi::Writer& writer, Metrics& metrics,
                std::function<void()> on_scan);
  ~InventoryLoop();

 private:
  void Run(const std::stop_token& stop);
  Result<void> Scan(device::Inventory& inventory);
  cdi::Roots RootsOf(const std::filesystem::path& library) const;
  // The base spec, made anew only when the driver's files changed.
  Result<std::shared_ptr<const cdi::Spec>> BaseSpec(const cdi::Roots& roots, const std::string& driver_version);
  void Count(const device::Snapshot& snapshot);

  const Options options_;
  Hardware& hardware_;
  cdi::Writer& writer_;
  Metrics& metrics_;
  const std::function<void()> on_scan_;
  // Of the loop's thread alone:
  std::optional<cdi::DriverFiles> files_;
  std::filesystem::path files_root_;
  std::shared_ptr<const cdi::Spec> base_;
  bool failing_ = false;

  std::jthread thread_;  // Last: joins first.
};

// Whether `path` lies below `root`, by whole components.
bool IsBelow(const std::filesystem::path& path, const std::filesystem::path& root);

}  // namespace tessera::driver
