#include "cmd/tessera-kubelet-plugin/flags.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/text.h"
#include "base/version.h"
#include "cmd/tessera-kubelet-plugin/feature_gates.h"
#include "device/slices.h"
#include "health/terms.h"

namespace tessera::cmd {
namespace {

namespace fs = std::filesystem;

// As they are written; Finish() makes sense of them.
struct Raw {
  std::string node_name, namespace_name = "default", instance;
  std::string kubeconfig;
  double qps = 5;
  int burst = 10;
  std::string feature_gates;
  std::string cdi_root = "/etc/cdi";
  std::string driver_root, container_driver_root, dev_root, host_root = "/host-root";
  std::string sysfs = "/sys", procfs = "/proc";
  std::string cdi_hook_path;
  std::string image_name, image_pull_secrets, image_pull_policy, service_account_name;
  std::string registry = "/var/lib/kubelet/plugins_registry", plugins = "/var/lib/kubelet/plugins", pod_resources;
  int healthcheck_port = -1;
  std::string health_policy, health_verdicts, health_period = "5s", health_lease, xids_to_ignore;
  std::string http_endpoint, metrics_path = "/metrics";
  std::string consumable_shares = "disabled";
  std::string exclude_devices;
  bool keep_go_checkpoint = true;
  std::string permanent_errors = "off";
  int verbosity = 0;
  std::string logging_format = "text", vmodule;
};

template <class T>
CLI::Option* Add(CLI::App& app, const std::string& flag, const char* env, T& value, const char* help) {
  // Given twice, the last counts, as in Go programs.
  return app.add_option(flag, value, help)->envname(env)->capture_default_str()->take_last();
}

void AddKubernetes(CLI::App& app, Raw& raw) {
  Add(app, "--node-name", "NODE_NAME", raw.node_name, "The Node this runs on")->type_name("NAME");
  Add(app, "--pod-uid", "POD_UID", raw.instance, "The pod's UID: sockets of its own, for rolling updates")
      ->type_name("UID");
  Add(app, "--namespace", "NAMESPACE", raw.namespace_name, "The namespace this runs in")->type_name("NAME");
  Add(app, "--kubeconfig", "KUBECONFIG", raw.kubeconfig, "Default: the pod's service account")->type_name("FILE");
  Add(app, "--kube-api-qps", "KUBE_API_QPS", raw.qps, "Requests a second that no pod waits for")
      ->check(CLI::Range(0.1, 10000.0));
  Add(app, "--kube-api-burst", "KUBE_API_BURST", raw.burst, "How many of them at once")->check(CLI::Range(1, 10000));
  Add(app, "--kubelet-registrar-directory-path", "KUBELET_REGISTRAR_DIRECTORY_PATH", raw.registry,
      "Where the kubelet looks for plugins")
      ->type_name("DIR");
  Add(app, "--kubelet-plugins-directory-path", "KUBELET_PLUGINS_DIRECTORY_PATH", raw.plugins,
      "Holds this plugin's own directory; the same path on the host")
      ->type_name("DIR");
  Add(app, "--kubelet-pod-resources-socket", "KUBELET_POD_RESOURCES_SOCKET", raw.pod_resources,
      "The kubelet's PodResources API; default: pod-resources/kubelet.sock beside the plugins directory")
      ->type_name("FILE");
  Add(app, "--feature-gates", "FEATURE_GATES", raw.feature_gates, "As the Go driver's: Name=true,…")->type_name("LIST");
}

void AddPlaces(CLI::App& app, Raw& raw) {
  Add(app, "--nvidia-driver-root,--host_driver-root", "NVIDIA_DRIVER_ROOT", raw.driver_root,
      "The NVIDIA driver's root on the host; default: / and /run/nvidia/driver are tried")
      ->type_name("DIR");
  Add(app, "--container-driver-root", "DRIVER_ROOT_CTR_PATH", raw.container_driver_root,
      "The same as this process sees it; default: /driver-root if it exists")
      ->type_name("DIR");
  Add(app, "--dev-root", "DEV_ROOT", raw.dev_root, "Holds dev/; default: the driver root if it does, otherwise /")
      ->type_name("DIR");
  Add(app, "--sysfs-root", "SYSFS_ROOT", raw.sysfs, "Where sysfs is mounted")->type_name("DIR");
  Add(app, "--procfs-root", "PROCFS_ROOT", raw.procfs, "Where procfs is mounted")->type_name("DIR");
  Add(app, "--cdi-root", "CDI_ROOT", raw.cdi_root, "Where CDI specs are written")->type_name("DIR");
  Add(app, "--nvidia-cdi-hook-path", "NVIDIA_CDI_HOOK_PATH", raw.cdi_hook_path,
      "The CDI hook program on the host; default: our own, copied into the plugin's directory")
      ->type_name("FILE");
  Add(app, "--exclude-devices", "EXCLUDE_DEVICES", raw.exclude_devices,
      "GPUs that are left to others: UUIDs, indices, device names, CEL expressions")
      ->type_name("LIST");
}

void AddServing(CLI::App& app, Raw& raw) {
  Add(app, "--http-endpoint", "HTTP_ENDPOINT", raw.http_endpoint,
      "For metrics and probes, such as :8080; default: none");
  Add(app, "--metrics-path", "METRICS_PATH", raw.metrics_path, "Where metrics are");
  Add(app, "--healthcheck-port", "HEALTHCHECK_PORT", raw.healthcheck_port, "gRPC health on TCP: -1 none, 0 any")
      ->check(CLI::Range(-1, 65535));
  Add(app, "--keep-go-checkpoint", "KEEP_GO_CHECKPOINT", raw.keep_go_checkpoint,
      "Keep a checkpoint.json that the Go driver can go on from");
  Add(app, "--permanent-errors", "PERMANENT_ERRORS", raw.permanent_errors,
      "Tell the kubelet which errors are permanent: off, or kep5322 for its proposed field")
      ->check(CLI::IsMember({"off", "kep5322"}));
  Add(app, "-v,--v", "LOG_VERBOSITY", raw.verbosity, "Log verbosity, as in Kubernetes")->check(CLI::Range(0, 10));
  Add(app, "--logging-format", "LOGGING_FORMAT", raw.logging_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void AddHealth(CLI::App& app, Raw& raw) {
  Add(app, "--health-policy-file", "HEALTH_POLICY_FILE", raw.health_policy,
      "What is done about each fault of a GPU; default: as docs/health.md has it")
      ->type_name("FILE");
  Add(app, "--health-verdicts-dir", "HEALTH_VERDICTS_DIR", raw.health_verdicts,
      "Where others put verdicts on devices, one file each; default: none are read")
      ->type_name("DIR");
  Add(app, "--health-period", "HEALTH_PERIOD", raw.health_period, "Between two readings of counters and states")
      ->type_name("SPAN");
  Add(app, "--health-lease", "HEALTH_LEASE", raw.health_lease,
      "How long the kubelet believes a report; default: the policy's, 30s")
      ->type_name("SPAN");
  Add(app, "--additional-xids-to-ignore", "ADDITIONAL_XIDS_TO_IGNORE", raw.xids_to_ignore,
      "Xids that say nothing of a GPU's health, as the Go driver's: 13,31")
      ->type_name("LIST");
}

// Accepted so that the Go driver's deployments start unchanged; they concern what this version does not do.
void AddUnused(CLI::App& app, Raw& raw) {
  Add(app, "--host-root", "HOST_ROOT", raw.host_root, "Not used yet");
  Add(app, "--image-name", "IMAGE_NAME", raw.image_name, "Not used yet");
  Add(app, "--image-pull-secrets", "IMAGE_PULL_SECRETS", raw.image_pull_secrets, "Not used yet");
  Add(app, "--image-pull-policy", "IMAGE_PULL_POLICY", raw.image_pull_policy, "Not used yet");
  Add(app, "--service-account-name", "SERVICE_ACCOUNT_NAME", raw.service_account_name, "Not used yet");
  Add(app, "--consumable-shares", "CONSUMABLE_SHARES", raw.consumable_shares, "Only \"disabled\" is served yet");
  Add(app, "--vmodule", "VMODULE", raw.vmodule, "Not used");
}

// The Go driver's other logging flags, which change how klog buffers and splits its output.
bool IsLoggingFlag(std::string_view flag) {
  return flag.starts_with("--log-") || flag == "--stderrthreshold" || flag == "--skip-headers" ||
         flag == "--logtostderr";
}

// "-v=4" as Go programs take it.
std::string Normalise(std::string_view argument) {
  return argument.starts_with("-v=") ? "-" + std::string(argument) : std::string(argument);
}

Result<void> RefuseUnknown(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  for (const std::string& extra : app.remaining()) {
    const std::string_view flag = std::string_view(extra).substr(0, extra.find('='));
    if (IsLoggingFlag(flag)) continue;
    const auto near = NearMatch(flag, candidates);
    return BadConfig("UnknownFlag", Format("{} is not known", Quote(flag)),
                     near ? Format("did you mean {}?", *near) : "see --help");
  }
  return {};
}

// On the host the roots are what they are. In a container the host's root, or the driver's, is mounted somewhere.
std::vector<driver::DriverRoot> DriverRoots(const Raw& raw) {
  constexpr std::string_view kMount = "/driver-root";
  constexpr std::string_view kDriverContainer = "run/nvidia/driver";
  const bool mounted = !raw.container_driver_root.empty() || fs::is_directory(kMount);
  const fs::path mount = raw.container_driver_root.empty() ? fs::path(kMount) : fs::path(raw.container_driver_root);
  if (!raw.driver_root.empty()) return {{mounted ? mount : fs::path(raw.driver_root), raw.driver_root}};
  const fs::path here = mounted ? mount : fs::path("/");
  return {{here, "/"}, {here / kDriverContainer, fs::path("/") / kDriverContainer}};
}

Result<void> Check(const Raw& raw) {
  if (raw.node_name.empty()) {
    return BadConfig("NoNodeName", "--node-name is required",
                     "set it, or NODE_NAME, to the name of the Node this runs on");
  }
  if (!IsDnsSubdomain(raw.node_name))
    return BadConfig("BadNodeName", Format("{} is no node name", Quote(raw.node_name)));
  if (!raw.instance.empty() && !api::IsClaimUid(raw.instance)) {
    return BadConfig("BadPodUid", Format("--pod-uid: {} is no UID", Quote(raw.instance)));
  }
  if (raw.consumable_shares != "disabled") {
    return BadConfig("NotServed", Format("--consumable-shares={} is not served yet", raw.consumable_shares),
                     "leave it out, or set it to disabled");
  }
  if (!raw.metrics_path.starts_with('/')) return BadConfig("BadPath", "--metrics-path must begin with /");
  return {};
}

Result<std::chrono::seconds> ParseSpan(std::string_view flag, std::string_view text, std::chrono::seconds from,
                                       std::chrono::seconds to) {
  health::Span span;
  if (health::FromText(text, span) && span.value >= from && span.value <= to) return span.value;
  return BadConfig("BadFlag",
                   Format("{}: {} is no time from {} to {}", flag, Quote(text), ToText(health::Span{from}),
                          ToText(health::Span{to})),
                   "write it as 5s, 2m or 1h");
}

Result<void> FinishHealth(const Raw& raw, driver::AgentOptions& agent) {
  using std::chrono::seconds;
  TESSERA_ASSIGN(agent.health_period, ParseSpan("--health-period", raw.health_period, seconds(1), seconds(60)));
  if (!raw.health_lease.empty()) {
    TESSERA_ASSIGN(agent.health.lease, ParseSpan("--health-lease", raw.health_lease, seconds(3), seconds(3600)));
  }
  agent.health.policy = raw.health_policy;
  agent.health.verdicts = raw.health_verdicts;
  agent.health.ignored_xids = raw.xids_to_ignore;
  return {};
}

Result<Flags> Finish(const Raw& raw) {
  TESSERA_TRY(Check(raw));
  Flags flags;
  TESSERA_ASSIGN(const FeatureGates gates, ParseFeatureGates(raw.feature_gates));
  for (const std::string& gate : gates.not_served) {
    flags.warnings.push_back(Format("feature gate {} is accepted, but this version does not serve it", gate));
  }
  flags.log = {.format = raw.logging_format == "json" ? log::Format::kJson : log::Format::kText,
               .verbosity = raw.verbosity};
  driver::AgentOptions& agent = flags.agent;
  TESSERA_ASSIGN(agent.excluded, driver::ExcludedDevices::Parse(raw.exclude_devices));
  TESSERA_ASSIGN(agent.access, kube::FindAccess(raw.kubeconfig, kube::ExecPlugins::kRefuse));
  agent.node_name = raw.node_name;
  agent.instance = raw.instance;
  agent.kube_qps = raw.qps;
  agent.kube_burst = raw.burst;
  agent.driver_roots = DriverRoots(raw);
  if (!raw.dev_root.empty()) agent.dev_root = raw.dev_root;
  agent.sysfs = raw.sysfs;
  agent.procfs = raw.procfs;
  agent.cdi_root = raw.cdi_root;
  agent.registry = raw.registry;
  agent.plugins = raw.plugins;
  agent.pod_resources = raw.pod_resources.empty() ? fs::path(raw.plugins).parent_path() / "pod-resources/kubelet.sock"
                                                  : fs::path(raw.pod_resources);
  agent.cdi_hook_path = raw.cdi_hook_path;
  agent.http_endpoint = raw.http_endpoint;
  agent.metrics_path = raw.metrics_path;
  if (raw.healthcheck_port >= 0) agent.healthcheck_port = static_cast<std::uint16_t>(raw.healthcheck_port);
  agent.keep_go_checkpoint = raw.keep_go_checkpoint;
  agent.kep5322 = raw.permanent_errors == "kep5322";
  TESSERA_TRY(FinishHealth(raw, agent));
  return flags;
}

}  // namespace

Result<Flags> ParseFlags(int argc, const char* const* argv) {
  CLI::App app{"tessera-kubelet-plugin: the DRA driver gpu.nvidia.com on a node", "tessera-kubelet-plugin"};
  app.set_version_flag("--version", "tessera-kubelet-plugin " + std::string(kVersion));
  app.allow_extras();  // Refused below, with a better message.
  Raw raw;
  AddKubernetes(app, raw);
  AddPlaces(app, raw);
  AddServing(app, raw);
  AddHealth(app, raw);
  AddUnused(app, raw);
  std::vector<std::string> arguments;  // The library wants them last to first.
  for (int i = argc - 1; i > 0; --i) arguments.push_back(Normalise(argv[i]));
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return Flags{.text = app.help()};
  } catch (const CLI::CallForVersion& version) {
    return Flags{.text = std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return BadConfig("BadFlag", error.what(), "see --help");
  }
  TESSERA_TRY(RefuseUnknown(app));
  // A second name for the same setting, which an option of this library cannot have.
  if (const char* root = std::getenv("HOST_DRIVER_ROOT"); root != nullptr && raw.driver_root.empty())
    raw.driver_root = root;
  return Finish(raw);
}

}  // namespace tessera::cmd
