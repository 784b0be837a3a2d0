#include "cmd/tessera/run.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/tessera/exit_codes.h"
#include "cmd/tessera/refusal.h"
#include "inspect/device_health.h"
#include "inspect/simulated_root.h"
#include "journal/journal.h"
#include "local/cdi_support.h"
#include "local/child.h"
#include "local/host_bundle.h"
#include "local/podman_flags.h"
#include "local/session.h"
#include "manifests/builtin_classes.h"
#include "manifests/objects.h"

namespace tessera::cmd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  tessera run -f claim.yaml -- python train.py              this machine's files, only the claim's GPUs
  tessera run -f claim.yaml --image IMAGE -- nvidia-smi -L  a container of an image
  tessera run -f claim.yaml --runtime none -- ./job         a process; CUDA_VISIBLE_DEVICES is all it gets
  tessera run -f claim.yaml --simulate dgx-h100 -- nvidia-smi -L

Runtimes: auto, podman, docker, containerd (nerdctl or ctr), crun, runc, none. The first three want --image.

Exit codes: the command's own, or 128 and the signal that ended it; 125 when the claim does not fit or something of ours
failed, 126 when the command cannot be run, 127 when there is none of that name.)";

struct Wanted {
  std::vector<alloc::Claim> claims;
  alloc::Classes classes;
};

int FailOurs(const Error& error) {
  Fail(error);
  return kExitOurs;
}

// The claims of the files, in their order; a template counts as the claim that would be made of it.
Result<Wanted> ReadWanted(const RunOptions& options) {
  Wanted wanted;
  for (const api::DeviceClass& builtin : manifests::BuiltinClasses()) wanted.classes.emplace(builtin.name, builtin);
  manifests::Objects classes, objects;
  for (const std::string& file : options.class_files) TESSERA_TRY(manifests::ReadInto(classes, file));
  for (const std::string& file : options.files) TESSERA_TRY(manifests::ReadInto(objects, file));
  for (const auto* source : {&classes, &objects}) {
    for (const manifests::DeviceClass& each : source->classes) {
      wanted.classes.insert_or_assign(each.object.name, each.object);
    }
  }
  for (const manifests::Claim& claim : objects.claims) wanted.claims.push_back({claim.object.ref, claim.spec});
  for (const manifests::ClaimTemplate& each : objects.templates) {
    wanted.claims.push_back({{each.namespace_name, each.name, {}}, each.spec});
  }
  if (!wanted.claims.empty()) return wanted;
  return BadConfig("NoClaim", Format("there is no ResourceClaim in {}", Join(options.files, ", ")),
                   "give a file with a ResourceClaim or a ResourceClaimTemplate; docs/run.md has examples");
}

bool HasUnifiedCgroups() {
  struct statfs status{};
  return ::statfs("/sys/fs/cgroup", &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
}

// What a simulated machine needs inside a container: its state.
Result<std::vector<cdi::Spec>> SimulatorSpecs(const fs::path& root) {
  TESSERA_ASSIGN(const std::string text, ReadFile(root / "etc/cdi/tessera-sim.yaml"));
  TESSERA_ASSIGN(cdi::Spec spec, cdi::Parse(text));
  return std::vector{std::move(spec)};
}

// What the plugin knows of its GPUs, where there is one. Health that cannot be read is no reason to give nobody a GPU.
std::vector<health::DeviceHealth> ReadHealth(const fs::path& plugin_dir, const device::Snapshot& snapshot) {
  auto health =
      inspect::ReadDeviceHealth({.plugin_dir = plugin_dir, .verdicts = {}, .boot_id = journal::BootId()}, snapshot,
                                {std::chrono::system_clock::now(), std::chrono::steady_clock::now()});
  if (health) return *std::move(health);
  log::Failure(health.error(), "What the kubelet plugin found is not known");
  return {};
}

Result<local::Session::Options> SessionOptions(const RunOptions& options) {
  local::Session::Options session{.node_name = options.node_name,
                                  .patience = std::chrono::seconds(options.timeout_seconds)};
  const char* runtime_dir = std::getenv("XDG_RUNTIME_DIR");
  TESSERA_ASSIGN(session.places, local::FindPlaces({.user = ::geteuid(),
                                                    .runtime_dir = runtime_dir == nullptr ? "" : runtime_dir,
                                                    .simulated = options.simulate,
                                                    .state = options.state_dir,
                                                    .cdi = options.cdi_dir}));
  if (options.simulate.empty()) session.machine_leases = options.machine_leases;
  session.health = [state = session.places.state](const device::Snapshot& snapshot) {
    return ReadHealth(state, snapshot);
  };
  const bool specs_are_public = !options.cdi_dir.empty() || local::IsForAllRuntimes(session.places.cdi);
  TESSERA_ASSIGN(session.runtime, local::ChooseRuntime({.wanted = options.runtime,
                                                        .has_image = !options.image.empty(),
                                                        .unified_cgroups = HasUnifiedCgroups(),
                                                        .has_nodes = options.simulate.empty() || ::geteuid() == 0,
                                                        .specs_are_public = specs_are_public},
                                                       local::FindProgram));
  if (auto question = local::CdiQuestion(session.runtime); !question.empty()) {
    TESSERA_TRY(local::JudgeCdi(session.runtime, local::Ask(std::move(question)), session.places.cdi));
  }
  if (options.driver_root.empty()) {
    session.driver_roots = {{"/", "/"}, {"/run/nvidia/driver", "/run/nvidia/driver"}};
  } else {
    const fs::path root = fs::absolute(options.driver_root);
    session.driver_roots = {{root, root}};
  }
  if (!options.sysfs_root.empty()) session.sysfs = options.sysfs_root;
  if (!options.simulate.empty()) {
    session.procfs = fs::path(options.driver_root) / "proc";
    TESSERA_ASSIGN(session.extra, SimulatorSpecs(options.driver_root));
  }
  std::error_code error;
  session.hook_path = (fs::read_symlink("/proc/self/exe", error).parent_path() / "tessera-cdi-hook").string();
  return session;
}

std::vector<std::string> Environment() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  return environment;
}

// UUIDs, not numbers: CUDA's order of GPUs is not the driver's.
std::string VisibleDevices(const local::Session& session) {
  std::vector<std::string> uuids;
  for (const api::PreparedDevice& device : session.devices()) {
    uuids.push_back(device.hardware.mig ? device.hardware.mig->uuid : device.hardware.gpu_uuid);
  }
  return Join(uuids, ",");
}

Result<local::Command> BareCommand(const RunOptions& options, const local::Session& session) {
  TESSERA_ASSIGN(const auto specs, session.Specs());
  // What the command starts may outlive it and us, and go on using the GPUs.
  local::Command command{.arguments = options.command, .environment = Environment(), .inherited = session.lifelines()};
  local::ShowDriver(specs, session.roots(), command.environment);
  local::SetVariable(command.environment, "CUDA_VISIBLE_DEVICES", VisibleDevices(session));
  std::fprintf(
      stderr,
      "tessera: no isolation: the command is told its GPUs in CUDA_VISIBLE_DEVICES, and can open all of them\n");
  return command;
}

Result<local::Command> BundleCommand(const RunOptions& options, const local::Session& session, local::Runtime runtime) {
  local::HostBundle bundle{.directory = session.scratch(),
                           .specs = {},
                           .roots = session.roots(),
                           .command = options.command,
                           .environment = Environment(),
                           .working_directory = fs::current_path(),
                           .user = ::geteuid(),
                           .group = ::getegid()};
  TESSERA_ASSIGN(bundle.specs, session.Specs());
  local::ShowDriver(bundle.specs, bundle.roots, bundle.environment);
  // Of outside, where there may be more GPUs.
  std::erase_if(bundle.environment, [](const std::string& text) { return text.starts_with("CUDA_VISIBLE_DEVICES="); });
  TESSERA_TRY(local::WriteHostBundle(bundle));
  return local::Command{
      .arguments = local::BundleArguments(runtime, session.runtime_root(), bundle.directory, session.container()),
      .environment = Environment(),
      .death_signal = SIGTERM};
}

Result<local::Command> ImageCommand(const RunOptions& options, const local::Session& session, local::Runtime runtime) {
  local::ImageRun run{.name = session.container(),
                      .options = options.runtime_options,
                      .image = options.image,
                      .command = options.command,
                      .has_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1};
  if (runtime == local::Runtime::kPodman && !session.AllRuntimesFindSpecs()) {
    TESSERA_ASSIGN(const auto specs, session.Specs());
    TESSERA_ASSIGN(run.flags, local::PodmanFlags(specs, session.scratch() / "hooks"));
  } else {
    for (const api::PreparedDevice& device : session.devices()) {
      run.devices.insert(run.devices.end(), device.cdi_ids.begin(), device.cdi_ids.end());
    }
  }
  return local::Command{
      .arguments = local::ImageArguments(runtime, run), .environment = Environment(), .death_signal = SIGTERM};
}

Result<local::Command> MakeCommand(const RunOptions& options, const local::Session& session, local::Runtime runtime) {
  if (runtime == local::Runtime::kNone) return BareCommand(options, session);
  if (local::TakesImage(runtime)) return ImageCommand(options, session, runtime);
  return BundleCommand(options, session, runtime);
}

// From here on a signal ends the command, and us after it.
int RunClaimed(const RunOptions& options, const Wanted& wanted, const local::SignalHold& signals) {
  auto session_options = SessionOptions(options);
  if (!session_options) return FailOurs(session_options.error());
  const local::Runtime runtime = session_options->runtime;
  const auto session = local::Session::Open(*std::move(session_options));
  if (!session) return FailOurs(session.error());
  const auto refusal = (*session)->Acquire(wanted.claims, wanted.classes);
  if (!refusal) return FailOurs(refusal.error());
  if (*refusal) {
    (void)WriteAll(STDERR_FILENO,
                   ToText(**refusal, wanted.claims, wanted.classes));  // There is nowhere else to say it.
    return kExitOurs;
  }
  if (const auto signal = signals.Pending()) return 128 + *signal;
  auto command = MakeCommand(options, **session, runtime);
  if (!command) return FailOurs(command.error());
  const auto code = local::RunToEnd(*std::move(command), signals);
  if (code) return *code;
  Fail(code.error());
  return code.error().code() == "CommandNotFound" ? local::kNotFound : local::kNotRunnable;
}

}  // namespace

CLI::App* AddRun(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a command with the GPUs of a claim, without a cluster");
  run->footer(kExamples);
  run->add_option("-f,--file", options.files, "ResourceClaims or ResourceClaimTemplates; may be repeated")
      ->type_name("FILE")
      ->required();
  run->add_option("--class-file", options.class_files, "DeviceClasses, beside those that the Helm chart installs")
      ->type_name("FILE");
  run->add_option("--runtime", options.runtime, "What the command runs in")
      ->type_name("RUNTIME")
      ->check(CLI::IsMember({"auto", "podman", "docker", "containerd", "nerdctl", "ctr", "crun", "runc", "none"})
                  .description(""))
      ->capture_default_str();
  run->add_option("--image", options.image, "The image of its container; default: this machine's own files")
      ->type_name("IMAGE");
  run->add_option("--runtime-option", options.runtime_options,
                  "An option for the runtime, such as --runtime-option=--volume=/data:/data; may be repeated")
      ->type_name("OPTION");
  CLI::Option* root = run->add_option("--driver-root", options.driver_root,
                                      "Where the NVIDIA driver is installed; default: / and /run/nvidia/driver");
  root->type_name("DIR")->check(CLI::ExistingDirectory);
  CLI::Option* sysfs = run->add_option("--sysfs-root", options.sysfs_root, "Where sysfs is mounted; default: /sys");
  sysfs->type_name("DIR");
  run->add_option("--simulate", options.simulate, "Use a simulated machine instead")
      ->type_name("PROFILE")
      ->excludes(root)
      ->excludes(sysfs);
  run->add_option("--state-dir", options.state_dir, "Where runs know of each other; default: see docs/run.md")
      ->type_name("DIR");
  run->add_option("--cdi-dir", options.cdi_dir, "Where the claim's CDI file goes; default: see docs/run.md")
      ->type_name("DIR");
  run->add_option("--machine-leases", options.machine_leases, "Where runs of different users know of each other")
      ->type_name("FILE")
      ->capture_default_str();
  run->add_option("--timeout", options.timeout_seconds, "Seconds after which a driver that hangs is given up")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  run->add_option("command", options.command, "The command and its arguments, after --")
      ->type_name("COMMAND")
      ->required();
  run->positionals_at_end();
  return run;
}

int RunRun(RunOptions options) {
  const local::SignalHold signals;
  const auto wanted = ReadWanted(options);
  if (!wanted) return FailOurs(wanted.error());
  if (options.simulate.empty()) return RunClaimed(options, *wanted, signals);
  const auto root = inspect::MakeSimulatedRoot(options.simulate);
  if (!root) return FailOurs(root.error());
  options.driver_root = root->path().string();
  options.sysfs_root = (root->path() / "sys").string();
  return RunClaimed(options, *wanted, signals);
}

}  // namespace tessera::cmd
