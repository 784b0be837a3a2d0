#include "base/error_codes.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

using enum CodeGroup;

constexpr ErrorKinds kTransient = Only(ErrorKind::kTransient), kConfig = Only(ErrorKind::kPermanentConfig),
                     kDevice = Only(ErrorKind::kPermanentDevice);
constexpr ErrorKinds kByErrno = kTransient | kConfig;  // See FromErrno().

// clang-format off
constexpr auto kCodes = std::to_array<CodeInfo>({
    {"NotAllocated", kTransient, kClaims, "P", "the claim has no devices allocated", "wait for the scheduler; if it stays, the claim was freed under its pod: delete the pod"},
    {"NothingForUs", kConfig, kClaims, "P", "nothing of the allocation is of `gpu.nvidia.com`", "report it: whoever called has a bug"},
    {"WrongPool", kConfig, kClaims, "P", "the device is of another node's pool", "delete the pod; check that --node-name is the Node's name"},
    {"ClaimNotFound", kConfig, kClaims, "P", "the claim was deleted while its pod started", "delete the pod"},
    {"ClaimReplaced", kConfig, kClaims, "P", "a claim of the same name with another UID", "delete the pod: its claim is gone"},
    {"BadDeviceConfig", kConfig, kClaims, "P", "the opaque config has an unknown field, kind or value; all faults are listed", "correct the claim, its template or its class"},
    {"ConfigKindMismatch", kConfig, kClaims, "P", "a config names a request whose device is of another kind: `GpuConfig` on a MIG device", "name the request that the config is meant for"},
    {"ConfigNotServed", kConfig, kClaims, "P", "the config asks for MPS, a time slice other than `Default`, or VFIO", "remove it: this version does not do it"},
    {"DeviceNotFound", kDevice, kClaims, "P", "the allocated device is not on the node now, also not after a new scan", "see with `tessera devices` what the driver finds; was MIG changed under the claim?"},
    {"DeviceWithheld", kDevice, kClaims, "P", "the device is there and cannot be used; the text says why: [Withheld devices](#withheld-devices)", "see `tessera devices` on the node; the pod needs another device"},
    {"DeviceLost", kDevice, kClaims, "P", "a device of a claim that was prepared is gone, and its GPU still answers: a MIG device that was destroyed", "delete the pod: it needs another device"},
    {"DeviceInUse", kTransient, kClaims, "P", "another claim has it; named with its pod", "wait: it is free when that pod has ended"},
    {"DeviceHeldByDevicePlugin", kTransient, kClaims, "P", "a device plugin's pod has it; named", "keep GPUs apart with --exclude-devices on one side"},
    {"HardwareNotRead", kTransient, kClaims, "P", "the first scan is still running", "wait; if it stays, NVML hangs"},
    {"BadClaimUid", kConfig, kClaims, "P", "the claim's UID is not one", "report it: whoever called has a bug"},
    {"BadField", kConfig, kClaims, "P", "the API server's claim object cannot be read", "report it with the object"},
    {"TooBusy", kTransient, kClaims, "P U", "over 1,024 claims wait", "see tessera_requests_in_flight: what do they wait for?"},
    {"LeaseTimeout", kTransient, kClaims, "P U", "somebody else is at work on the claim or GPU", "look for a call that hangs, or another plugin process that was stopped"},
    {"NoAnswer", kTransient, kClaims, "P U", "the call ended without an answer for this claim", "look for other errors in the log"},

    {"CdiWriteFailed", kByErrno, kCdi, "P L", "the CDI directory cannot be written or read; the text says what to check", "check the mount of --cdi-root, and its space"},
    {"DriverFilesMissing", kDevice, kCdi, "P L", "no driver libraries of the loaded version below the driver root", "check --nvidia-driver-root; finish the driver's upgrade"},
    {"BadDriverVersion", kDevice, kCdi, "P L", "the driver's version has no usable form", "reinstall the driver"},
    {"DeviceNodeMissing", kDevice, kCdi, "P L", "`/dev/nvidiaN` is not below the dev root; health finds it too", "make it with nvidia-modprobe -c N, or check --dev-root"},
    {"DeviceMinorUnknown", kDevice, kCdi, "P L", "the GPU's minor number is not known", "check that nvidia-smi lists the GPU"},
    {"MigCapabilityMissing", kDevice, kCdi, "P L", "no `nvidia-caps` driver, or no capability of the MIG device", "check that nvidia-smi -L lists it, and --procfs-root"},
    {"BadCdiSpec", kConfig, kCdi, "P L", "a spec breaks CDI's rules, or a file cannot be read", "report it with the file"},
    {"BadLdCache", kConfig, kCdi, "L", "`ld.so.cache` of the driver root is damaged; usual directories are searched", "run ldconfig there"},
    {"NoHook", kConfig, kCdi, "X", "`tessera-cdi-hook` is not beside the plugin", "install it, or set --nvidia-cdi-hook-path"},
    {"UnresolvableDevices", kConfig, kCdi, "-", "of applying specs (`cdi/apply.h`), which the plugin does not do", "write the specs first"},
    {"BadOciConfig", kConfig, kCdi, "-", "the same", "report it with the container's config"},
    {"BadHook", kConfig, kCdi, "-", "the same", "report it with the spec"},
    {"NoDeviceNode", kByErrno, kCdi, "-", "the same", "make the device node"},

    {"DiskFull", kTransient, kJournal, "P", "no room for a record; room for unpreparing is kept", "free space on that file system"},
    {"JournalUnwritable", kByErrno, kJournal, "P L", "the journal cannot be written", "make the plugin's directory writable; look at dmesg"},
    {"JournalUnsynced", kByErrno, kJournal, "P L", "`fdatasync` failed: the disk has an error. The file is written anew before it is trusted again", "look at dmesg"},
    {"JournalUnreadable", kByErrno, kJournal, "P L", "the journal cannot be read", "make the plugin's directory readable; look at dmesg"},
    {"JournalBusy", kTransient, kJournal, "P U", "`journal.lock` was locked for 10 s", "look for another plugin process that was stopped"},
    {"JournalFull", kTransient, kJournal, "P", "32 MiB of records", "look for claims that are never unprepared"},
    {"LeaseFileUnusable", kByErrno, kJournal, "P U W", "`leases` cannot be opened or locked", "make the plugin's directory writable"},
    {"ClaimUnwritable", kConfig, kJournal, "P", "the record is over 1 MiB, or a name is no UTF-8", "see how large the claim's allocation is"},
    {"ClaimNotStarted", kTransient, kJournal, "P", "a record vanished between its start and its completion", "wait: the kubelet tries again"},
    {"NoDirectory", kByErrno, kJournal, "X W", "a directory cannot be made", "check mounts and rights"},
    {"FileUnreadable", kByErrno, kJournal, "X W L", "a file cannot be read; named in the text", "check its rights"},
    {"FileTooLarge", kConfig, kJournal, "X W L", "a file is larger than it may be; named in the text", "see what filled it"},
    {"FileUnwritable", kByErrno, kJournal, "X L", "a file cannot be written; named in the text", "check space and rights"},
    {"WriteFailed", kByErrno, kJournal, "X L", "the same, in the middle of writing", "check space and rights"},

    {"ClaimStatusDropped", kConfig, kHealth, "L", "the API server does not keep `status.devices` of claims; said once, tried again every hour", "switch its feature gate DRAResourceClaimDeviceStatus on; it is on by default from 1.33"},
    {"ClaimStatusRefused", kConfig, kHealth, "L", "the API server does not let us write `status.devices`; its own words follow", "compare the ClusterRole with docs/configuration.md"},
    {"HealthPolicyInvalid", kConfig, kHealth, "Node Event, L", "the health policy file has a fault; all of them are named", "correct it, as docs/health.md describes it"},
    {"HealthStateDamaged", kTransient, kHealth, "L", "`health.json` or `health-history.json` could not be read and was set aside", "nothing: what still stands is found again"},
    {"VerdictInvalid", kConfig, kHealth, "Node Event, L", "a verdict's file has a fault; it is skipped", "correct or remove it: docs/health.md"},
    {"VerdictUnmatched", kConfig, kHealth, "Node Event, L", "a verdict names no device of this node", "correct its device: UUID, index, PCI address or name"},
    {"VerdictUnreadable", kByErrno, kHealth, "L", "a verdict's file or the directory cannot be opened, or a link leads out of it", "check its rights; make it a plain file"},
    {"TooManyVerdicts", kConfig, kHealth, "L", "over 256 files of verdicts; the others are not read", "remove those of devices that are well"},

    {"Starting", kTransient, kServing, "R", "it has just started", "wait"},
    {"NotRegistered", kTransient, kServing, "R", "[above](#the-plugin-is-not-registered)", "check that the registry directory is the kubelet's own"},
    {"RegistrationRefused", kTransient, kServing, "R, Node Event", "the kubelet's own words", "do what the words say"},
    {"AnotherDriver", kConfig, kServing, "W", "another process serves our driver name: [migration.md](migration.md#when-it-waits)", "uninstall it"},
    {"InstanceTaken", kTransient, kServing, "W", "a second process with the same socket names", "give each its --pod-uid, or stop one"},
    {"GoDriverBusy", kTransient, kServing, "W", "the Go driver holds `pu.lock`", "wait: it is preparing something, and ends by itself"},
    {"UnservedClaims", kConfig, kServing, "W", "claims that this version cannot undo; named: [migration.md](migration.md#what-is-refused)", "delete their pods while the Go driver runs, or go back to it"},
    {"BadCheckpoint", kConfig, kServing, "Node Event", "`checkpoint.json` cannot be read; it was moved aside and we go on", "nothing: claims are found from CDI files and the kubelet"},
    {"CheckpointUnreadable", kConfig, kServing, "in the text of `BadCheckpoint`", "why", "nothing: claims are found from CDI files and the kubelet"},
    {"SecondPublisher", kConfig, kServing, "R, Node Event", "somebody else writes our slices; named", "run one driver of this name on the node"},
    {"LockFailed", kByErrno, kServing, "W L", "`pu.lock` or `cp.lock` cannot be opened or taken", "make the plugin's directory writable"},
    {"ListenFailed", kTransient | kConfig, kServing, "X W", "a socket or port cannot be made", "check that the port is free and the directory writable; -v=4 says more"},
    {"DirectoryMissing", kConfig, kServing, "X W", "the socket's directory does not exist", "mount it"},
    {"NotASocket", kConfig, kServing, "X W", "something else has the socket's name", "remove it"},
    {"SocketPathTooLong", kConfig, kServing, "X W", "a path of over 107 bytes", "use a shorter kubelet root directory"},
    {"SocketPathUnusable", kConfig, kServing, "X W", "a path with blanks or `% ? #`", "use another kubelet root directory"},
    {"SocketFailed", kByErrno, kServing, "X W L", "a socket cannot be made, renamed or reached", "check the rights of its directory"},
    {"SocketUnusable", kByErrno, kServing, "X W L", "a socket cannot be looked at", "check the rights of its directory"},
    {"RandomFailed", kByErrno, kServing, "X W", "the kernel gave no random bytes", "check the container's seccomp profile"},
    {"BadDriverName", kConfig, kServing, "W", "a driver name that cannot be part of a path", "report it"},
    {"BadInstance", kConfig, kServing, "W", "an instance that cannot be part of a path", "correct --pod-uid"},
    {"BadNotifySocket", kConfig, kServing, "X", "`NOTIFY_SOCKET` is set, but is no unix socket", "leave the variable to systemd"},
    {"NotifyFailed", kByErrno, kServing, "X L", "systemd cannot be told that the plugin is ready or alive, and will restart it", "check that it is a unit of Type=notify"},
    {"NobodyListens", kTransient, kServing, "L, probes", "no one answers on a socket", "look why its owner has ended"},
    {"CallFailed", kTransient, kServing, "L, probes", "a gRPC call to one of our own sockets or to the kubelet failed", "wait: when a service of ours hangs, the kubelet restarts the pod"},
    {"CallTimedOut", kTransient, kServing, "L, probes", "the same, without an answer", "wait: when a service of ours hangs, the kubelet restarts the pod"},
    {"CallNotImplemented", kTransient, kServing, "L, probes", "the other side does not know the call", "nothing, with an old kubelet"},

    {"ApiNotFound", kConfig, kApi, "P S", "404: claim (there `ClaimNotFound`), Node or API", "check --node-name"},
    {"ApiForbidden", kTransient, kApi, "P S L", "403: [the rights](configuration.md#rights-at-the-api-server)", "grant it with a Role or ClusterRole"},
    {"ApiUnauthorized", kTransient, kApi, "P S L", "401, also with a fresh token", "check the service account, the clock, and the API server's issuer"},
    {"ApiInvalid", kConfig, kApi, "S L", "400 or 422: the server refuses an object", "report it with the server's words, unless an admission policy refused it"},
    {"ApiConflict", kTransient, kApi, "S", "409: somebody else was quicker", "nothing: it is tried again"},
    {"ApiExists", kTransient, kApi, "S", "409: it is there already", "nothing: it is tried again"},
    {"ApiGone", kTransient, kApi, "L", "410: the watch starts again", "nothing: it is tried again"},
    {"ApiThrottled", kTransient, kApi, "P S L", "429, or our own budget", "raise --kube-api-qps, or see why the server asks to wait"},
    {"ApiServerError", kTransient, kApi, "P S L", "5xx", "look into the API server's log"},
    {"ApiUnexpected", kTransient, kApi, "P S L", "an answer that makes no sense", "look for a proxy in between"},
    {"ResourceApiMissing", kConfig, kApi, "P S L", "`resource.k8s.io` is not served in a version we speak; the text says what is", "use Kubernetes 1.34, or the feature gate and --runtime-config"},
    {"ConnectFailed", kByErrno, kApi, "P S L", "no connection, or the name does not resolve", "check network and DNS"},
    {"TlsFailed", kTransient | kConfig, kApi, "P S L X", "TLS was not set up, or a certificate of ours cannot be read", "do what the text says"},
    {"TlsVerify", kConfig, kApi, "P S L X", "the server's certificate does not prove the server", "check CA, server name and clock"},
    {"HttpTimeout", kTransient, kApi, "P S L", "the answer did not come", "check the network"},
    {"HttpClosed", kTransient, kApi, "P S L", "the answer ended early", "check the network, and a proxy in between"},
    {"HttpMalformed", kTransient, kApi, "P S L", "the answer was no HTTP", "look for a proxy in between"},
    {"HttpTooLarge", kTransient, kApi, "P S L", "the answer was too large", "look for a proxy in between"},
    {"HttpCancelled", kTransient, kApi, "P S L", "we were stopping", "nothing: the next process does it"},
    {"NotInCluster", kConfig, kApi, "X", "no service account, and no `--kubeconfig`", "mount a token"},
    {"KubeconfigInvalid", kConfig, kApi, "X", "the kubeconfig has a fault", "correct the field that the text names"},
    {"KubeconfigUnsupported", kConfig, kApi, "X", "the kubeconfig asks for what a node agent does not do", "use a token or a certificate"},
    {"TokenInvalid", kConfig, kApi, "P S L X", "a token that is empty or not printable", "look at the token file"},
    {"CredentialPlugin", kByErrno, kApi, "-", "of `tessera` in a shell; the plugin refuses such kubeconfigs", "run the credential plugin by hand"},
    {"BadJson", kConfig, kApi, "inside other errors", "a text that is no JSON", "see the error around it"},
    {"BadYaml", kConfig, kApi, "inside other errors", "a text that is no YAML", "see the error around it"},
    {"BadQuantity", kConfig, kApi, "inside other errors", "a text that is no quantity", "write it as Kubernetes does: 10Gi"},
    {"BadVersion", kConfig, kApi, "inside other errors", "a text that is no version", "write it as 1.2.3"},
    {"CelCompileError", kConfig, kApi, "inside other errors", "Kubernetes would refuse the selector; the text points at the place", "correct the expression"},
    {"CelTooLong", kConfig, kApi, "inside other errors", "the selector is longer than Kubernetes takes", "shorten the expression"},
    {"CelTooComplex", kConfig, kApi, "inside other errors", "the selector is nested deeper than Kubernetes takes", "simplify the expression"},
    {"CelRuntimeError", kConfig, kApi, "inside other errors", "the selector failed on a device; in a cluster that is fatal for the pod", "ask with has() or .? first; the advice may have the attribute's right name"},
    {"CelCostExceeded", kConfig, kApi, "inside other errors", "the selector costs more than Kubernetes spends", "simplify the expression"},

    {"DriverNotFound", kDevice | kTransient, kDriver, "P L R", "no `libnvidia-ml.so.1` where it is looked for: [devices.md](devices.md#finding-the-gpus)", "install the NVIDIA driver, or name its root with --nvidia-driver-root"},
    {"DriverNotLoaded", kTransient, kDriver, "P L R", "the kernel module is not loaded", "load it: modprobe nvidia"},
    {"DriverVersionMismatch", kDevice | kTransient, kDriver, "P L R", "library and kernel module are of different versions", "drain the node and reload the module, or reboot"},
    {"DriverNoPermission", kConfig | kTransient, kDriver, "P L R", "the driver's device nodes may not be opened", "run with access to /dev/nvidiactl and /dev/nvidia*"},
    {"DriverUnusable", kDevice | kTransient, kDriver, "P L R", "NVML does not initialise; the text has its words", "run nvidia-smi on the node"},
    {"GpuCountUnknown", kDevice | kTransient, kDriver, "P L R", "NVML cannot count the GPUs", "run nvidia-smi on the node; if it fails as well, reload the driver"},
    {"NvmlHost", kTransient | kConfig | kDevice, kDriver, "P L R", "the process that holds NVML did not start, crashed or hangs", "look for NVRM messages in the kernel's log"},

    {"UnknownFlag", kConfig, kFlags, "X", "a flag that is not known", "see --help"},
    {"BadFlag", kConfig, kFlags, "X", "a flag's value cannot be read", "see --help"},
    {"NoNodeName", kConfig, kFlags, "X", "`--node-name` is missing", "set it, or NODE_NAME"},
    {"BadNodeName", kConfig, kFlags, "X", "`--node-name` is no name of a Node", "set it to the Node's name"},
    {"BadPodUid", kConfig, kFlags, "X", "`--pod-uid` is no UID", "set it from the pod's metadata.uid"},
    {"BadFeatureGate", kConfig, kFlags, "X", "a feature gate that is not known, or no Boolean", "see docs/configuration.md"},
    {"BadExclude", kConfig, kFlags, "X", "`--exclude-devices` cannot be read", "see docs/configuration.md"},
    {"BadPath", kConfig, kFlags, "X", "`--metrics-path` is no path", "begin it with /"},
    {"NotServed", kConfig, kFlags, "X", "a flag of the Go driver for what this version does not do", "leave it out"},

    {"BadArgument", kConfig, kHook, "hook", "flags in the CDI spec that the hook does not know: spec and hook are of different versions", "restart the plugin, which writes the specs anew"},
    {"BadState", kConfig, kHook, "hook", "what the runtime wrote to its standard input is no container state", "report it with the runtime's version"},
    {"NoContainerRoot", kByErrno, kHook, "hook", "the container's root is not there, or is the host's own", "report it with the runtime's version"},
    {"NoNamespace", kByErrno, kHook, "hook", "the kernel refuses a mount namespace", "check how the runtime is confined"},
    {"NoProcfs", kByErrno, kHook, "hook", "the kernel refuses procfs", "check how the runtime is confined"},
    {"NoRandom", kByErrno, kHook, "hook", "the kernel gave no random bytes", "check how the runtime is confined"},
    {"ContainerFile", kByErrno, kHook, "hook", "a file of the image is in the way: of the wrong type, or not writable", "correct the image"},
    {"NoLdconfig", kByErrno, kHook, "hook", "the host's `ldconfig` cannot be read, or is not static", "install the host's ldconfig"},
    {"LdcacheFailed", kByErrno, kHook, "hook", "`ldconfig` failed in the container's root", "run ldconfig in the image"},
    {"ParamsFailed", kByErrno, kHook, "hook", "the driver's parameter file could not be hidden", "report it with the kernel's version"},

    {"NoClaim", kConfig, kTool, "run", "the files hold no claim", "give a file with a ResourceClaim or a ResourceClaimTemplate"},
    {"BadManifest", kConfig, kTool, "run", "a file is no Kubernetes object, or one that cannot be read; the text says where", "correct it"},
    {"ClaimNotAllocatable", kConfig, kTool, "run", "the scheduler would refuse the claim anywhere: a class that is missing, a request that breaks the rules", "correct the claim"},
    {"AllocationUndecided", kTransient, kTool, "run", "the search for devices was given up", "ask for less at once, or narrow the selectors"},
    {"CapacityNotRepresentable", kConfig, kTool, "run", "a request for capacity that no number can hold", "ask for less"},
    {"CapacityNegative", kConfig, kTool, "run", "a capacity below zero", "correct it in the ResourceSlice or in the claim"},
    {"BadNodeSelector", kConfig, kTool, "run", "a slice selects nodes in a form that Kubernetes does not have", "ask the driver's maker"},
    {"NoRuntime", kConfig, kTool, "run", "what the command shall run in is not installed", "install it, or choose another with --runtime"},
    {"ImageWanted", kConfig, kTool, "run", "podman, docker and containerd need an image", "name one with --image, or use --runtime crun, runc or none"},
    {"ImageNotWanted", kConfig, kTool, "run", "crun, runc and none have this machine's files", "leave out --image"},
    {"SpecsNotPublic", kConfig, kTool, "run", "the daemons of docker and containerd do not look where the CDI files are, such as an ordinary user's", "use podman, be root, or name with --cdi-dir a directory of yours that the daemon reads"},
    {"RuntimeWithoutCdi", kConfig, kTool, "run", "docker, nerdctl or ctr is too old for CDI devices, or docker has them turned off", "install a newer one, or use podman"},
    {"RuntimeSilent", kTransient, kTool, "run", "docker, nerdctl or ctr failed when it was asked what it can do; its own words follow", "start its daemon, or use podman"},
    {"NodeStateUnreadable", kConfig, kTool, "run", "the machine is a Kubernetes node, and only root can see which GPUs its pods have", "run it as root"},
    {"UnsafeStateDirectory", kByErrno, kTool, "run", "others can write to the directory of the state", "remove it, or name another with --state-dir"},
    {"NotOurClaim", kTransient, kTool, "inside other errors", "another run's or a pod's claim is in the way", "wait until it has ended"},
    {"BundleFailed", kByErrno, kTool, "run", "the container's configuration cannot be made", "do what the text says"},
    {"CommandNotFound", kConfig, kTool, "run", "there is no program of that name; exit code 127", "check PATH, or give its path"},
    {"CommandNotRunnable", kByErrno, kTool, "run", "it is there and cannot be started; exit code 126", "check its rights, and the interpreter it names"},
    {"NoSimulator", kByErrno, kTool, "run, devices", "`tessera-sim` is not beside `tessera`", "install it (make install does)"},
    {"SimulatorFailed", kByErrno, kTool, "run, devices", "the simulated machine could not be made", "see with tessera-sim profiles what there is"},
    {"NameNeeded", kConfig, kTool, "explain", "the files hold no claim or pod, or several", "give the NAME of one"},
    {"NoSuchObject", kConfig, kTool, "explain", "there is no claim or pod of that name", "check NAME and namespace (-n)"},
    {"TooManyObjects", kTransient, kTool, "explain", "the cluster holds more objects than are read at once", "explain from files with -f, of fewer objects"},
    {"NoManifests", kConfig, kTool, "lint", "a directory holds no .yaml, .yml or .json file", "name the directory that does; those below it are not looked into"},
    {"NoDevices", kConfig, kTool, "lint", "the file of --slices holds no ResourceSlice with devices", "make it with kubectl get resourceslices -o yaml"},
    {"NotAFile", kConfig, kTool, "devices", "the file to be written is something else already", "name a new file"},
});
// clang-format on

static_assert(std::ranges::all_of(kCodes,
                                  [](const CodeInfo& info) {
                                    return info.kinds.bits != 0 && !info.at.empty() && !info.meaning.empty() &&
                                           !info.next.empty();
                                  }),
              "a code needs its kind, its meaning and the next step");
static_assert(std::ranges::is_sorted(kCodes, {}, &CodeInfo::group), "the page has one table a group");
static_assert(std::ranges::all_of(kCodes,
                                  [](const CodeInfo& info) {
                                    return std::ranges::count(kCodes, info.code, &CodeInfo::code) == 1;
                                  }),
              "a code has one row");

constexpr std::array<std::string_view, kCodeGroups> kHeadings{
    "Claims",          "CDI",   "Journal and directory", "Health",          "Serving the kubelet", "API server",
    "Driver and GPUs", "Flags", "Codes of the CDI hook", "Codes of tessera"};

}  // namespace

std::span<const CodeInfo> ErrorCodes() { return kCodes; }

const CodeInfo* FindCode(std::string_view code) {
  const auto found = std::ranges::find(kCodes, code, &CodeInfo::code);
  return found == kCodes.end() ? nullptr : &*found;
}

std::string_view Heading(CodeGroup group) { return kHeadings.at(static_cast<std::size_t>(group)); }

Error WithNextStep(const Error& error) {
  const CodeInfo* info = error.advice().empty() ? FindCode(error.code()) : nullptr;
  return info == nullptr ? error : Error(error.kind(), error.code(), error.message(), std::string(info->next));
}

bool FailsForGood(const Error& error) {
  if (error.kind() == ErrorKind::kTransient) return false;
  if (error.kind() == ErrorKind::kPermanentDevice) return true;
  const CodeInfo* info = FindCode(error.code());
  return info != nullptr && info->group == CodeGroup::kClaims;
}

}  // namespace tessera
