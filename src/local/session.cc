#include "local/session.h"

#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "base/uuid.h"
#include "base/version.h"
#include "driver/local_runs.h"
#include "local/child.h"

namespace tessera::local {
namespace {

namespace fs = std::filesystem;

// One run at a time looks for devices, so that many at once do not want the same first one.
constexpr const char* kAllocateLease = "run/allocate";
constexpr int kAttempts = 5;  // The plugin may take a device between our look and our record.
constexpr std::chrono::milliseconds kKubeletTimeout{1'000};
constexpr std::string_view kContainerPrefix = "tessera-";

api::LocalRun ThisRun(Runtime runtime, const std::string& container) {
  api::LocalRun run{.pid = ::getpid(), .runtime = {}, .container = {}};
  if (runtime == Runtime::kNone) return run;
  run.runtime = ToText(runtime);
  run.container = container;
  return run;
}

std::string DeviceLease(const api::Hardware& hardware) {
  return "device/" + (hardware.mig ? hardware.mig->uuid : hardware.gpu_uuid);
}

// False also when it cannot be known.
bool IsAbsent(std::string_view container, const Answer& answer) {
  const auto names = Split(answer.out, '\n');
  return answer.code == 0 && answer.out.size() < kMaxAnswer && std::ranges::find(names, container) == names.end();
}

void Append(cdi::Edits& to, const cdi::Edits& from) {
  const auto append = [](auto& list, const auto& more) { list.insert(list.end(), more.begin(), more.end()); };
  append(to.env, from.env);
  append(to.device_nodes, from.device_nodes);
  append(to.mounts, from.mounts);
  append(to.hooks, from.hooks);
  append(to.additional_gids, from.additional_gids);
}

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)),
      container_(std::string(kContainerPrefix) + RandomUuid()),
      scratch_(ScratchOf(options_.places, container_)),
      metrics_(options_.node_name, kVersion),
      events_({.node_name = options_.node_name}, no_events_, metrics_),
      journal_(journal::Journal::Open({.directory = options_.places.state})),
      leases_(options_.places.state / "leases"),
      machine_leases_(options_.machine_leases, 0666),
      writer_(options_.places.cdi),
      files_(writer_),
      foreign_(options_.pod_resources),
      preparer_(
          {.node_name = options_.node_name, .boot_id = journal::BootId(), .run = ThisRun(options_.runtime, container_)},
          {*journal_, leases_, files_, hardware_, claims_, foreign_, events_, metrics_, no_watch_}) {}

Session::~Session() { Release(); }

Result<std::unique_ptr<Session>> Session::Open(Options options) {
  std::unique_ptr<Session> session(new Session(std::move(options)));
  TESSERA_TRY(session->ReadHardware());
  return session;
}

Result<void> Session::ReadHardware() {
  const driver::InventoryLoop loop({.roots = options_.driver_roots,
                                    .sysfs = options_.sysfs,
                                    .procfs = options_.procfs,
                                    .hook_path = options_.hook_path,
                                    .writes_base = false},
                                   hardware_, writer_, metrics_, [] {});
  TESSERA_ASSIGN(const auto state, hardware_.WaitForState(Deadline()));
  if (!state->base || options_.extra.empty()) return {};
  cdi::Spec base = *state->base;
  for (const cdi::Spec& extra : options_.extra) {
    Append(base.edits, extra.edits);
    for (const cdi::Device& device : extra.devices) Append(base.edits, device.edits);
  }
  auto with_extra = std::make_shared<driver::HardwareState>(*state);
  with_extra->base = std::make_shared<const cdi::Spec>(std::move(base));
  hardware_.Set(std::move(with_extra));
  return {};
}

Result<std::optional<Refusal>> Session::Acquire(std::vector<alloc::Claim> claims, const alloc::Classes& classes) {
  for (alloc::Claim& claim : claims) claim.ref.uid = RandomUuid();
  TESSERA_ASSIGN(const journal::Lease turn, leases_.Acquire({kAllocateLease}, Deadline()));
  for (int attempt = 1;; ++attempt) {
    TESSERA_TRY(journal_->Refresh());
    ReleaseDead();
    (void)foreign_.Refresh(kKubeletTimeout);  // No kubelet: nobody's device plugin.
    const device::Snapshot& snapshot = *hardware_.state()->snapshot;
    const MachineOffer offer(
        snapshot,
        {.foreign = foreign_.Current(),
         .health = options_.health ? options_.health(snapshot) : std::vector<health::DeviceHealth>(),
         .prepared = journal_->All(),
         .holders = HeldByOthers()},
        options_.node_name);
    TESSERA_ASSIGN(auto answer, offer.Allocate(claims, classes));
    if (auto* refusal = std::get_if<Refusal>(&answer)) return std::move(*refusal);
    const auto& allocations = std::get<std::vector<api::Allocation>>(answer);
    Result<void> prepared;
    for (std::size_t i = 0; i < claims.size() && prepared; ++i) prepared = Prepare(claims[i], allocations[i]);
    if (prepared) return std::nullopt;
    Release();
    if (prepared.error().code() != "DeviceInUse" || attempt == kAttempts) return std::unexpected(prepared.error());
  }
}

Result<void> Session::Prepare(const alloc::Claim& claim, const api::Allocation& allocation) {
  claims_.Put({.ref = claim.ref,
               .resource_version = {},
               .allocation = allocation,
               .raw_allocation = api::ToJson(allocation),
               .reserved_for = {}});
  // Before the record: a record without it belongs to the dead.
  TESSERA_ASSIGN(journal::Lease life, leases_.Acquire({driver::RunLease(claim.ref.uid)}, Deadline()));
  Held& held = held_.emplace(claim.ref.uid, Held{claim.ref, {}, std::move(life), {}}).first->second;
  TESSERA_ASSIGN(held.devices, preparer_.PrepareOne(claim.ref, Deadline()));
  return LeaseDevices(held);
}

// A GPU that is cut up is not offered whole, so that what is offered never overlaps.
std::vector<Holder> Session::HeldByOthers() {
  std::vector<Holder> holders;
  if (options_.machine_leases.empty()) return holders;
  for (const device::Device& device : hardware_.state()->snapshot->devices) {
    const bool held = machine_leases_.IsHeld(DeviceLease(driver::HardwareOf(device))).value_or(false);
    if (held) holders.push_back({.claim = "of another user", .user = "tessera run", .devices = {device.name}});
  }
  return holders;
}

Result<void> Session::LeaseDevices(Held& held) {
  if (options_.machine_leases.empty()) return {};
  for (const api::PreparedDevice& device : held.devices) {
    if (device.admin_access) continue;
    auto lease = machine_leases_.TryAcquire(DeviceLease(device.hardware));
    if (!lease) {
      const Error& error = lease.error();
      return std::unexpected(Error(error.kind(), error.code(),
                                   Format("keeping runs of other users away: {}", error.message()),
                                   "remove that file, or name with --machine-leases one that all users can write to"));
    }
    if (!lease->has_value()) return Transient("DeviceInUse", Format("another user's run has {}", device.name));
    held.machine.push_back(**std::move(lease));
  }
  return {};
}

void Session::Release() {
  for (const auto& [uid, held] : held_) (void)preparer_.UnprepareOne(held.claim, Deadline());  // It logs what fails.
  held_.clear();
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

void Session::ReleaseDead() {
  for (const journal::ClaimPtr& claim : journal_->All()) {
    if (!claim->run || leases_.IsHeld(driver::RunLease(claim->claim.uid)).value_or(true)) continue;
    const auto lease = leases_.TryAcquire(driver::ClaimLease(claim->claim.uid));
    if (!lease || !lease->has_value() || !StopContainer(*claim->run)) continue;
    (void)preparer_.Undo(claim->claim.uid, "its run died");
  }
}

// The container of a run that died. False: it may still use its devices.
bool Session::StopContainer(const api::LocalRun& run) const {
  if (run.container.empty()) return true;
  const auto runtime = ParseRuntime(run.runtime);
  if (!runtime || !api::IsClaimUid(run.container) || !run.container.starts_with(kContainerPrefix)) return false;
  bool stopped = false;
  for (auto& command : StopCommands(*runtime, RuntimeRoot(options_.places), run.container)) {
    stopped = Ask(std::move(command)).code == 0;
  }
  if (auto question = LeftQuestion(*runtime, run.container); !question.empty()) {
    stopped = IsAbsent(run.container, Ask(std::move(question)));
  }
  // What ran is one thing to ctr, and its record and files are another.
  if (*runtime == Runtime::kCtr && stopped) (void)Ask({"ctr", "containers", "rm", run.container});
  if (!stopped) {
    log::Warning("Could not stop a container whose run died", {{"container", run.container}, {"runtime", run.runtime}});
    return false;
  }
  std::error_code ignored;
  fs::remove_all(ScratchOf(options_.places, run.container), ignored);
  return true;
}

std::vector<api::PreparedDevice> Session::devices() const {
  std::vector<api::PreparedDevice> devices;
  for (const auto& [uid, held] : held_) devices.insert(devices.end(), held.devices.begin(), held.devices.end());
  return devices;
}

std::vector<int> Session::lifelines() const {
  std::vector<int> all;
  for (const auto& [uid, held] : held_) {
    all.push_back(held.life.descriptor());
    for (const journal::Lease& lease : held.machine) all.push_back(lease.descriptor());
  }
  return all;
}

Result<std::vector<cdi::Spec>> Session::Specs() const {
  TESSERA_ASSIGN(const auto files, writer_.ReadClaims());
  std::vector<cdi::Spec> specs;
  for (const cdi::Writer::ClaimFile& file : files) {
    if (held_.contains(file.uid) && file.spec) specs.push_back(*file.spec);
  }
  return specs;
}

}  // namespace tessera::local
