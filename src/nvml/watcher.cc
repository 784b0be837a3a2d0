#include "nvml/watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "json/decode.h"

namespace tessera::nvml {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds kGrace{200};  // For a host to leave by itself.

}  // namespace

Watcher::Watcher(WatchOptions options)
    : options_{.host = WithRoots(std::move(options.host)), .period = std::max(options.period, milliseconds(10))},
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      blame_(options_.host.avoid_for) {}

Watcher::~Watcher() { EndHost(milliseconds(0)); }

// ---- Orders from other threads.

void Watcher::Order(const std::function<void(Orders&)>& change) {
  {
    const std::scoped_lock hold(mutex_);
    change(orders_);
  }
  static_cast<void>(::eventfd_write(wake_.get(), 1));
}

Watcher::Orders Watcher::TakeOrders() {
  eventfd_t ignored = 0;
  static_cast<void>(::eventfd_read(wake_.get(), &ignored));
  const std::scoped_lock hold(mutex_);
  return std::exchange(orders_, Orders{.released = orders_.released});
}

void Watcher::Interrupt() {
  Order([](Orders& orders) { orders.interrupt = true; });
}

void Watcher::Resume() {
  Order([](Orders& orders) { orders.released = false; });
}

void Watcher::Restart() {
  Order([](Orders& orders) { orders.restart = true; });
}

bool Watcher::Release() {
  Order([](Orders& orders) { orders.released = true; });
  std::shared_ptr<const HostProcess> host;
  {
    const std::scoped_lock hold(mutex_);
    host = killable_;
  }
  return !host || host->Kill(milliseconds(1'000));
}

int Watcher::host_pid() const {
  const std::scoped_lock hold(mutex_);
  return killable_ ? killable_->pid() : 0;
}

// ---- Watching.

Result<std::optional<Observation>> Watcher::Next(Time until) {
  for (;;) {
    const Orders orders = TakeOrders();
    if (orders.restart || orders.released) {
      EndHost(milliseconds(0));
      retry_at_ = {};  // What comes next is a new beginning.
    }
    if (orders.restart) {
      blame_.Clear();
      identities_.Clear();
    }
    if (orders.interrupt) return std::nullopt;
    const Time now = steady_clock::now();
    if (!hosts_.host() && (orders.released || now < retry_at_)) {
      if (now >= until) return std::nullopt;
      Sleep(orders.released ? until : std::min(until, retry_at_));
      continue;
    }
    if (!hosts_.host()) TESSERA_TRY(StartHost());
    if (blame_.Expire(now)) {
      static_cast<void>(SendMessage(hosts_.host()->socket(), json::PrintJson(json::Encode(Request()))));
    }
    auto message = Await(until);
    if (!message.has_value()) {
      TESSERA_TRY(Replace(message.error().message()));
    } else if (*message) {
      TESSERA_ASSIGN(auto seen, Understand(**message));
      if (seen) return seen;
    } else if (steady_clock::now() >= until) {
      return std::nullopt;
    }
  }
}

Result<void> Watcher::StartHost() {
  if (auto started = hosts_.Start(options_.host); !started.has_value()) return Pause(started.error());
  receiver_.emplace(hosts_.host()->socket());
  heard_ = steady_clock::now();
  bool released = false;
  {
    const std::scoped_lock hold(mutex_);
    killable_ = hosts_.host();
    released = orders_.released;
  }
  if (released) return {};  // It was told nothing, so it holds nothing; the next turn ends it.
  const auto sent = SendMessage(hosts_.host()->socket(), json::PrintJson(json::Encode(Request())));
  return sent.has_value() ? Result<void>() : Replace(sent.error().message());
}

void Watcher::EndHost(milliseconds grace) {
  {
    const std::scoped_lock hold(mutex_);
    killable_.reset();
  }
  receiver_.reset();
  hosts_.End(grace);
}

HostRequest Watcher::Request() const {
  HostRequest request;
  for (const auto& root : options_.host.driver_roots) request.driver_roots.push_back(root.string());
  request.avoid = blame_.Avoids();
  request.watch_period_ms = static_cast<unsigned>(options_.period.count());
  return request;
}

Result<std::optional<std::string>> Watcher::Await(Time until) {
  TESSERA_ASSIGN(auto message, receiver_->Receive(milliseconds(0)));
  if (message) {
    heard_ = steady_clock::now();
    return message;
  }
  const Task task = CurrentTask();
  const Time now = steady_clock::now();
  if (now >= task.since + task.limit) {
    return Transient("NvmlHost", Format("did not answer within {}", SecondsText(task.limit)));
  }
  Sleep(std::min({until, task.since + task.limit, now + task.look_again}));
  return std::nullopt;
}

void Watcher::Sleep(Time until) {
  std::array<pollfd, 2> polls{pollfd{wake_.get(), POLLIN, 0}, pollfd{-1, POLLIN, 0}};  // A negative one is passed over.
  if (hosts_.host()) polls[1].fd = hosts_.host()->socket();
  constexpr std::int64_t kMost = 3'600'000;
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
  ::poll(polls.data(), polls.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, kMost)));
}

Watcher::Task Watcher::CurrentTask() const {
  const Progress& progress = hosts_.host()->progress();
  const std::uint32_t function = progress.function.load(std::memory_order_acquire);
  const HostOptions& host = options_.host;
  if (function == Progress::kNoCall) {  // The next call, which says nothing when it begins, may hang.
    return {heard_, options_.period + host.slow_call_deadline, host.call_deadline};
  }
  if (function == static_cast<std::uint32_t>(Fn::nvmlEventSetWait_v2)) {
    return {progress.Since(), options_.period + host.call_deadline};  // It is there to wait.
  }
  // Once a host was lost, GPUs are awake or will not wake: eight that hang must not take eight times as long.
  const bool patient = MayBeSlow(function) && blame_.empty();
  return {progress.Since(), patient ? host.slow_call_deadline : host.call_deadline};
}

Result<std::optional<Observation>> Watcher::Understand(const std::string& message) {
  const auto value = json::ParseJson(message);
  auto answer = value.has_value() ? json::Decode<WatchAnswer>(*value) : std::unexpected(value.error());
  if (answer.has_value() && answer->error) {
    EndHost(kGrace);
    return Pause(FromWire(*answer->error));
  }
  if (!answer.has_value() || !answer->seen) {
    EndHost(milliseconds(0));
    return Pause(Error(ErrorKind::kTransient, "NvmlHost", "the NVML host sent nonsense"));
  }
  if (answer->seen->vitals) {
    if (ChangedShape(*answer->seen->vitals)) {
      blame_.Clear();  // Indices mean other GPUs now.
      EndHost(kGrace);
    }
    identities_.Complete(*answer->seen->vitals);
  }
  return std::move(answer->seen);
}

bool Watcher::ChangedShape(const MachineVitals& vitals) {
  std::string shape = Format("{} {}", vitals.driver_version, vitals.gpus.size());
  const bool changed = !shape_.empty() && shape_ != shape;
  shape_ = std::move(shape);
  return changed && !blame_.empty();
}

Result<void> Watcher::Replace(std::string what) {
  HostProcess& host = *hosts_.host();
  const std::uint32_t function = host.progress().function.load(std::memory_order_acquire);
  const std::uint32_t gpu = host.progress().gpu.load(std::memory_order_acquire);
  const bool hung = !host.Reap(milliseconds(100));
  const bool killed = host.was_killed();  // By Release(), or by a stranger.
  if (!hung) what = host.EndText();
  EndHost(milliseconds(0));
  if (killed) {
    log::Verbose(2, "The NVML host that watches was killed");
    retry_at_ = steady_clock::now() + RetryPause();
    return {};
  }
  if (auto blamed = blame_.Add(function, gpu, what, steady_clock::now(), hung); !blamed.has_value()) {
    return Pause(blamed.error());
  }
  return {};
}

milliseconds Watcher::RetryPause() const {
  return std::clamp(options_.period, milliseconds(100), milliseconds(30'000));
}

std::unexpected<Error> Watcher::Pause(Error error) {
  retry_at_ = steady_clock::now() + RetryPause();
  return std::unexpected(std::move(error));
}

}  // namespace tessera::nvml
