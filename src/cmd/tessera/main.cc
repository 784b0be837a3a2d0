// The `tessera` program: reads flags, runs one command.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/tessera/devices.h"
#include "cmd/tessera/exit_codes.h"
#include "cmd/tessera/explain.h"
#include "cmd/tessera/lint.h"
#include "lint/options.h"
#include "nvml/host.h"

namespace tessera::cmd {
namespace {

constexpr const char* kDevicesExamples = R"(Examples:
  tessera devices                              the GPUs of this machine
  tessera devices -o wide                      with UUIDs, links and PCIe
  tessera devices -o slices                    the ResourceSlices this node would publish
  tessera devices --driver-root /run/nvidia/driver
  tessera devices --simulate dgx-h100          a simulated machine (tessera-sim profiles lists them)
  tessera devices --record machine.json        everything that was read, for a bug report
  tessera devices --history                    how the devices of finished claims were when these ended

Exit codes: 0 fine, 1 no driver or another problem, 2 usage, 4 some device could not be read.)";

constexpr const char* kLintExamples = R"(Examples:
  tessera lint claim.yaml pod.yaml             against the API's rules, CEL and our configs
  tessera lint --k8s 1.35 manifests/           all manifests of a directory, for that release
  kubectl get resourceslices -o yaml | tessera lint --slices - claim.yaml
                                               and against the devices of the cluster
  helm template CHART | tessera lint -

Exit codes: 0 no errors, 1 errors found, 2 usage.)";

std::string DefaultNodeName() {
  if (const char* name = std::getenv("NODE_NAME"); name != nullptr && *name != '\0') return name;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) return "localhost";
  return Lower(host);
}

void AddDevices(CLI::App& app, DevicesOptions& options) {
  static const std::map<std::string, inspect::DevicesFormat> kFormats{{"table", inspect::DevicesFormat::kTable},
                                                                      {"wide", inspect::DevicesFormat::kWide},
                                                                      {"json", inspect::DevicesFormat::kJson},
                                                                      {"yaml", inspect::DevicesFormat::kYaml},
                                                                      {"slices", inspect::DevicesFormat::kSlices}};
  CLI::App* devices = app.add_subcommand("devices", "List the GPUs and MIG devices of this machine");
  devices->footer(kDevicesExamples);
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

void AddLint(CLI::App& app, LintOptions& options) {
  CLI::App* command = app.add_subcommand("lint", "Check claims, templates, classes, pods and workloads in files");
  command->footer(kLintExamples);
  command->add_option("FILE", options.files, "Manifests; a directory, or - for standard input")->required();
  command->add_option("--k8s", options.release, "The release of Kubernetes: 1.34 to 1.37")
      ->type_name("RELEASE")
      ->capture_default_str()
      ->check(CLI::Validator(
          [](const std::string& release) {
            return lint::ParseRelease(release) ? "" : release + " is not one of 1.34, 1.35, 1.36, 1.37";
          },
          ""));
  command->add_option("--slices", options.slices, "Also match selectors with the devices of these ResourceSlices")
      ->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "-o,--output", [&](const std::string& format) { options.as_json = format == "json"; }, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
}

int Main(int argc, char** argv) {
  CLI::App app{"Tessera: NVIDIA GPUs for Kubernetes, and for the people who run them"};
  app.set_version_flag("--version", std::string("tessera ") + std::string(kVersion));
  app.require_subcommand(1);
  int verbosity = 0;
  std::string format = "text";
  app.fallthrough();  // These may stand behind the command as well.
  app.add_option("-v", verbosity, "Log verbosity, as in Kubernetes")->type_name("LEVEL")->check(CLI::Range(0, 10));
  app.add_option("--logging-format", format, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
  DevicesOptions devices;
  AddDevices(app, devices);
  ExplainOptions explain;
  AddExplain(app, explain);
  LintOptions lint_options;
  AddLint(app, lint_options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitFine : kExitUsage;
  }
  ::signal(SIGCHLD, SIG_DFL);  // Ignored by some parents; then nobody could tell how a child ended.
  log::Configure({.format = format == "json" ? log::Format::kJson : log::Format::kText, .verbosity = verbosity});
  if (app.got_subcommand("explain")) return RunExplain(explain);
  if (app.got_subcommand("lint")) return RunLint(lint_options);
  if (devices.history && devices.view.format == inspect::DevicesFormat::kSlices) {
    std::fputs("tessera: --history has no -o slices\n", stderr);
    return kExitUsage;
  }
  if (devices.view.node_name.empty()) devices.view.node_name = DefaultNodeName();
  devices.view.color = ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return RunDevices(std::move(devices));
}

}  // namespace
}  // namespace tessera::cmd

int main(int argc, char** argv) {
  if (const auto code = tessera::nvml::RunHostIfAsked(argc, argv)) return *code;
  return tessera::cmd::Main(argc, argv);
}
