#include "nvml/watch.h"

#include <sys/prctl.h>

#include <algorithm>

#include "json/decode.h"
#include "nvml/event_batch.h"
#include "nvml/host.h"
#include "nvml/library.h"
#include "nvml/watch_session.h"

namespace tessera::nvml {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Time = steady_clock::time_point;

constexpr milliseconds kBetweenBatches{100};   // Events that come faster are sent together.
constexpr milliseconds kBetweenReadings{500};  // Of those that events want.
constexpr milliseconds kLongestPause{1'000};   // After errors of the event wait.
constexpr std::size_t kMostUnread = 64 << 10;  // An agent that is this far behind is sent nothing.

// One host at work.
class Watching {
 public:
  Watching(WatchSession session, milliseconds period, Receiver& receiver)
      : session_(std::move(session)), period_(period), receiver_(receiver) {}

  // Until the agent is gone, which is no error, or the driver is.
  Result<void> Run() {
    for (;;) {
      // Before reading: a GPU that just had an Xid may hang in it, and this process is replaced.
      if (!Flush()) return {};
      TESSERA_TRY(ReadWhenDue());
      if (!Flush()) return {};
      if (!Rest()) return {};
      TakeEvents();
    }
  }

 private:
  Result<void> ReadWhenDue() {
    if (steady_clock::now() < next_reading_) return {};
    TESSERA_ASSIGN(vitals_, session_.Read());
    const Time now = steady_clock::now();
    next_reading_ = now + period_;
    if (std::exchange(wanted_, false)) not_wanted_before_ = now + kBetweenReadings;
    return {};
  }

  // Sends what there is, unless it comes too fast for the agent. False when the agent is gone.
  bool Flush() {
    if ((batch_.empty() && !vitals_) || Unread(kHostSocket) > kMostUnread) return true;
    WatchAnswer answer;
    answer.seen = batch_.Take();
    answer.seen->vitals = std::exchange(vitals_, std::nullopt);
    if (!answer.seen->events.empty()) not_before_ = steady_clock::now() + kBetweenBatches;
    return SendMessage(kHostSocket, json::PrintJson(json::Encode(answer))).has_value();
  }

  // Waits out a pause, listening to the agent. False when it is gone.
  bool Rest() {
    const Time now = steady_clock::now();
    const auto pause = std::chrono::ceil<milliseconds>(std::min(not_before_, next_reading_) - now);
    const auto message = receiver_.Receive(std::max(pause, milliseconds(0)));
    if (!message.has_value()) return false;
    if (!*message) return true;
    const auto request = ParseRequest(**message);
    if (!request.has_value()) return false;
    session_.SetAvoid(request->avoid);
    next_reading_ = now;
    return true;
  }

  // Waits until something happens or a reading is due, and takes what has happened; not for long, however fast it comes.
  void TakeEvents() {
    const Time now = steady_clock::now();
    if (now < not_before_) return;
    GpuEvent event;
    abi::Return code = session_.Wait(Patience(now), event);
    const Time enough = steady_clock::now() + kBetweenBatches;
    while (code == abi::kSuccess) {
      pause_ = milliseconds(0);
      batch_.Add(event);
      if (event.type != abi::kEventSingleBitEcc) ReadSoon();
      if (steady_clock::now() >= enough) return;
      code = session_.Wait(milliseconds(0), event);
    }
    if (code != abi::kTimeout) return Heed(code);
    pause_ = milliseconds(0);
  }

  milliseconds Patience(Time now) const {
    auto patience = std::chrono::ceil<milliseconds>(next_reading_ - now);
    if (!batch_.empty() || vitals_) patience = std::min(patience, kBetweenBatches);  // The agent had no room.
    return std::max(patience, milliseconds(0));
  }

  // The wait failed. The first time the set is kept: what led to the failure may still be on its way.
  void Heed(abi::Return code) {
    const bool again = pause_ > milliseconds(0);
    pause_ = code == Caller::kAvoided ? period_ : std::clamp(pause_ * 2, kBetweenBatches, kLongestPause);
    not_before_ = steady_clock::now() + pause_;
    if (code == Caller::kAvoided) return;
    if (again) session_.RenewEvents();
    ReadSoon();  // A GPU is lost, and NVML does not say which: each is asked.
  }

  void ReadSoon() {
    wanted_ = true;
    next_reading_ = std::min(next_reading_, not_wanted_before_);
  }

  WatchSession session_;
  const milliseconds period_;
  Receiver& receiver_;
  EventBatch batch_;
  std::optional<MachineVitals> vitals_;  // Not sent yet.
  Time next_reading_;                    // The first is due at once.
  bool wanted_ = false;                  // It is not only the period's.
  Time not_wanted_before_;               // However many events want one.
  Time not_before_;                      // Events are left waiting until then.
  milliseconds pause_{0};                // The last one after an error.
};

Result<void> FindAndWatch(const HostRequest& request, Receiver& receiver, Progress& progress) {
  const std::vector<fs::path> roots(request.driver_roots.begin(), request.driver_roots.end());
  const auto serve = [&](const Library& library) { return library.Initialise(progress); };
  TESSERA_ASSIGN(const Library library, FindLibrary(roots, serve));
  TESSERA_ASSIGN(WatchSession session, WatchSession::Open(library, request.avoid, progress));
  return Watching(std::move(session), milliseconds(*request.watch_period_ms), receiver).Run();
}

}  // namespace

int Watch(const HostRequest& request, Receiver& receiver, Progress& progress) {
  ::prctl(PR_SET_NAME, "nvml-watch");
  const auto watched = FindAndWatch(request, receiver, progress);
  if (watched.has_value()) return 0;
  WatchAnswer answer;
  answer.error = ToWire(watched.error());
  static_cast<void>(SendMessage(kHostSocket, json::PrintJson(json::Encode(answer))));
  return 0;
}

}  // namespace tessera::nvml
