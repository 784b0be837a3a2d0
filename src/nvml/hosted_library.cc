#include "nvml/hosted_library.h"

#include <algorithm>

#include "base/text.h"
#include "json/decode.h"
#include "nvml/wire.h"

namespace tessera::nvml {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

HostedLibrary::HostedLibrary(HostOptions options)
    : options_(WithRoots(std::move(options))), blame_(options_.avoid_for) {}

HostedLibrary::~HostedLibrary() { Release(); }

void HostedLibrary::Release() { hosts_.End(milliseconds(200)); }

int HostedLibrary::host_pid() const { return hosts_.host() ? hosts_.host()->pid() : 0; }

Result<MachineFacts> HostedLibrary::Read() {
  const auto deadline = steady_clock::now() + options_.read_deadline;
  blame_.Expire(steady_clock::now());
  lost_host_ = crossed_ = false;
  for (;;) {
    TESSERA_ASSIGN(auto facts, ReadOnce(deadline));
    if (!facts) continue;
    if (!ChangedShape(*facts)) return std::move(*facts);
    blame_.Clear();  // Indices mean other GPUs now.
  }
}

bool HostedLibrary::ChangedShape(const MachineFacts& facts) {
  // Not the bus ids: a GPU that is left out tells none.
  std::string shape = Format("{} {}", facts.driver_version, facts.gpus.size());
  const bool changed = !shape_.empty() && shape_ != shape;
  shape_ = std::move(shape);
  return changed && !blame_.empty();
}

Result<std::optional<MachineFacts>> HostedLibrary::ReadOnce(steady_clock::time_point deadline) {
  hosts_.Reap();  // It left while nobody needed it.
  if (!hosts_.host()) TESSERA_TRY(hosts_.Start(options_));
  HostRequest request;
  for (const auto& root : options_.driver_roots) request.driver_roots.push_back(root.string());
  request.avoid = blame_.Avoids();

  HostProcess& host = *hosts_.host();
  const auto sent = SendMessage(host.socket(), json::PrintJson(json::Encode(request)));
  const auto message = sent.has_value() ? Await(deadline) : std::unexpected(sent.error());
  std::string failure = message.has_value() ? "sent nonsense" : message.error().message();
  if (message.has_value()) {
    const auto value = json::ParseJson(*message);
    auto answer = value.has_value() ? json::Decode<ReadAnswer>(*value) : std::unexpected(value.error());
    if (answer.has_value() && answer->facts) return std::move(answer->facts);
    if (answer.has_value() && answer->error) return std::unexpected(FromWire(*answer->error));
  }

  const std::uint32_t function = host.progress().function.load(std::memory_order_acquire);
  const std::uint32_t gpu = host.progress().gpu.load(std::memory_order_acquire);
  if (host.Reap(milliseconds(100))) {
    if (host.left_by_itself() && !std::exchange(crossed_, true)) return std::nullopt;  // It left as we asked.
    failure = host.EndText();
  }
  lost_host_ = true;
  Release();
  TESSERA_TRY(blame_.Add(function, gpu, failure, steady_clock::now()));
  if (steady_clock::now() >= deadline) {
    return Transient("NvmlHost", Format("the NVML host {} in {}, and no time is left for another try", failure,
                                        Name(static_cast<Fn>(function))));
  }
  return std::nullopt;
}

Result<std::string> HostedLibrary::Await(steady_clock::time_point deadline) {
  const Progress& progress = hosts_.host()->progress();
  Receiver receiver(hosts_.host()->socket());
  std::uint32_t calls = progress.calls.load(std::memory_order_acquire);
  auto since = steady_clock::now();  // When the call in progress began, as far as we saw.
  for (;;) {
    const std::uint32_t function = progress.function.load(std::memory_order_acquire);
    // Once a host was lost, GPUs are awake or will not wake: eight that hang must not take eight times as long.
    const bool patient = MayBeSlow(function) && !lost_host_;
    const milliseconds limit = patient ? options_.slow_call_deadline : options_.call_deadline;
    // Looks up often enough to notice a hang within an eighth of its deadline.
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    TESSERA_ASSIGN(auto message, receiver.Receive(std::clamp(options_.call_deadline / 8, milliseconds(1),
                                                             std::max(left, milliseconds(1)))));
    if (message) return std::move(*message);

    const auto now = steady_clock::now();
    if (now >= deadline) {
      return Transient("NvmlHost", Format("was still busy after {}", SecondsText(options_.read_deadline)));
    }
    const std::uint32_t newest = progress.calls.load(std::memory_order_acquire);
    if (std::exchange(calls, newest) != newest) {
      since = now;  // As long as it makes calls, it lives.
    } else if (now - since >= limit) {
      return Transient("NvmlHost", Format("did not answer within {}", SecondsText(limit)));
    }
  }
}

}  // namespace tessera::nvml
