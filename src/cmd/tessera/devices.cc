#include "cmd/tessera/devices.h"

#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/tessera/exit_codes.h"
#include "device/inventory.h"
#include "health/state_file.h"
#include "inspect/device_health.h"
#include "inspect/history_view.h"
#include "inspect/simulated_root.h"
#include "journal/journal.h"
#include "json/decode.h"
#include "nvml/hosted_library.h"
#include "nvml/vet.h"

namespace tessera::cmd {
namespace {

constexpr const char* kExamples = R"(Examples:
  tessera devices                              the GPUs of this machine
  tessera devices -o wide                      with UUIDs, links and PCIe
  tessera devices -o slices                    the ResourceSlices this node would publish
  tessera devices --driver-root /run/nvidia/driver
  tessera devices --simulate dgx-h100          a simulated machine (tessera-sim profiles lists them)
  tessera devices --record machine.json        everything that was read, for a bug report
  tessera devices --history                    how the devices of finished claims were when these ended

Exit codes: 0 fine, 1 no driver or another problem, 2 usage, 4 some device could not be read.)";

constexpr const char* kPluginDir = "/var/lib/kubelet/plugins/gpu.nvidia.com";

Result<device::Recording> ReadMachine(const DevicesOptions& options) {
  nvml::HostOptions host;
  if (!options.driver_root.empty()) host.driver_roots = {options.driver_root};
  host.read_deadline = std::chrono::seconds(options.timeout_seconds);
  nvml::HostedLibrary library(std::move(host));
  return device::Record(library, options.sysfs_root);
}

Result<device::Recording> ReadRecording(const std::string& file) {
  TESSERA_ASSIGN(const std::string text, ReadFile(file));
  const auto value = json::ParseJson(text);
  auto recording = value.has_value() ? json::Decode<device::Recording>(*value, json::Unknown::kIgnore)
                                     : std::unexpected(value.error());
  if (!recording.has_value()) return std::unexpected(std::move(recording).error().Wrap("reading " + file));
  nvml::Vet(recording->nvml);  // Anybody may have sent it.
  return recording;
}

// Never over a device or through a link: --record /dev/null as root must not replace it.
Result<void> WriteRecording(const device::Recording& recording, const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(file, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return BadConfig("NotAFile", file + " is there and is no ordinary file", "name a new file");
  }
  return ReplaceFile(file, json::PrintJson(json::Encode(recording), 1) + "\n", 0600);
}

// Holds signals back, so that a simulated machine is removed before one of them ends the program.
class SignalPause {
 public:
  SignalPause() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;
  ~SignalPause() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// From the real machine, a simulated one, or a file.
Result<device::Recording> Read(DevicesOptions& options) {
  if (!options.replay.empty()) return ReadRecording(options.replay);
  if (options.simulate.empty()) return ReadMachine(options);
  const SignalPause pause;
  TESSERA_ASSIGN(const TempDir root, inspect::MakeSimulatedRoot(options.simulate));
  options.driver_root = root.path().string();
  options.sysfs_root = (root.path() / "sys").string();
  return ReadMachine(options);
}

Result<health::History> ReadPast(const std::filesystem::path& directory) {
  if (std::error_code error; !std::filesystem::is_directory(directory, error)) {
    return BadConfig("NoDirectory", directory.string() + " is no directory",
                     "run it on a node with the kubelet plugin, or say with --plugin-dir where its directory is");
  }
  return health::ReadHistory(directory / health::kHistoryFile);
}

// What the plugin knows. That it cannot be read is said, and does not keep the rest from being shown.
std::vector<health::DeviceHealth> ReadHealth(const DevicesOptions& options, const device::Snapshot& snapshot) {
  const bool is_this_machine = options.simulate.empty() && options.replay.empty();
  if (!is_this_machine && !options.plugin_dir) return {};
  auto health =
      inspect::ReadDeviceHealth({.plugin_dir = options.plugin_dir.value_or(kPluginDir),
                                 .verdicts = options.verdicts_dir,
                                 .boot_id = journal::BootId()},
                                snapshot, {std::chrono::system_clock::now(), std::chrono::steady_clock::now()});
  if (health.has_value()) return *std::move(health);
  log::Failure(health.error(), "What the kubelet plugin found is not shown");
  return {};
}

int ShowHistory(const DevicesOptions& options) {
  const auto history = ReadPast(options.plugin_dir.value_or(kPluginDir));
  if (!history.has_value()) return Fail(history.error());
  const auto written = WriteAll(fileno(stdout), inspect::RenderHistory(*history, options.view));
  return written.has_value() ? kExitFine : Fail(written.error());
}

}  // namespace

void AddDevices(CLI::App& app, DevicesOptions& options) {
  static const std::map<std::string, inspect::DevicesFormat> kFormats{{"table", inspect::DevicesFormat::kTable},
                                                                      {"wide", inspect::DevicesFormat::kWide},
                                                                      {"json", inspect::DevicesFormat::kJson},
                                                                      {"yaml", inspect::DevicesFormat::kYaml},
                                                                      {"slices", inspect::DevicesFormat::kSlices}};
  CLI::App* devices = app.add_subcommand("devices", "List the GPUs and MIG devices of this machine");
  devices->footer(kExamples);
  devices->add_option("-o,--output", options.view.format, "table, wide, json, yaml or slices")
      ->transform(CLI::CheckedTransformer(kFormats, CLI::ignore_case).description(""))
      ->type_name("FORMAT");
  CLI::Option* root = devices->add_option("--driver-root", options.driver_root,
                                          "Where the NVIDIA driver is installed; default: / and /run/nvidia/driver");
  root->type_name("DIR")->check(CLI::ExistingDirectory);
  CLI::Option* sysfs = devices->add_option("--sysfs-root", options.sysfs_root, "Where sysfs is mounted");
  sysfs->type_name("DIR")->capture_default_str();
  devices->add_option("--node-name", options.view.node_name, "Node for -o slices; default: $NODE_NAME or the host name")
      ->type_name("NAME")
      ->check(CLI::Validator(
          [](const std::string& name) { return IsDnsSubdomain(name) ? "" : name + " is no node name"; }, ""));
  devices->add_option("--timeout", options.timeout_seconds, "Seconds after which a driver that hangs is given up")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  CLI::Option* simulate = devices->add_option("--simulate", options.simulate, "Show a simulated machine instead");
  simulate->type_name("PROFILE")->excludes(root)->excludes(sysfs);
  devices->add_option("--record", options.record, "Also write everything that was read to FILE")->type_name("FILE");
  devices->add_option("--replay", options.replay, "Show what such a FILE holds instead")
      ->type_name("FILE")
      ->excludes(root)
      ->excludes(sysfs)
      ->excludes(simulate);
  CLI::Option* history =
      devices->add_flag("--history", options.history, "Show how the devices of finished claims were instead");
  history->excludes(root)->excludes(sysfs)->excludes(simulate);
  devices
      ->add_option(
          "--plugin-dir", options.plugin_dir,
          "The kubelet plugin's directory: health, --history; default: /var/lib/kubelet/plugins/gpu.nvidia.com")
      ->type_name("DIR");
  devices->add_option("--verdicts-dir", options.verdicts_dir, "Its --health-verdicts-dir, where it has one")
      ->type_name("DIR")
      ->excludes(history);
}

int RunDevices(DevicesOptions options) {
  if (options.history && options.view.format == inspect::DevicesFormat::kSlices) {
    std::fputs("tessera: --history has no -o slices\n", stderr);
    return kExitUsage;
  }
  if (options.history) return ShowHistory(options);
  const auto recording = Read(options);
  if (!recording.has_value()) return Fail(recording.error());
  if (!options.record.empty()) {
    const auto written = WriteRecording(*recording, options.record);
    if (!written.has_value()) return Fail(written.error());
  }
  const device::Snapshot snapshot = device::MakeSnapshot(recording->nvml, recording->pci);
  const std::string text = inspect::RenderDevices(snapshot, options.view, ReadHealth(options, snapshot));
  if (const auto written = WriteAll(fileno(stdout), text); !written.has_value()) return Fail(written.error());
  return inspect::HasUnreadableDevices(snapshot) ? kExitPartial : kExitFine;
}

}  // namespace tessera::cmd
