// driver/leadership.h: one instance leads. It takes over what the Go driver prepared, publishes, reconciles, and keeps
// the checkpoint with which the Go driver could go on.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "driver/checkpoint_keeper.h"
#include "driver/events.h"
#include "driver/offer.h"
#include "driver/publisher.h"
#include "driver/reconciler.h"
#include "driver/takeover.h"
#include "driver/trouble.h"
#include "journal/journal.h"
#include "journal/leases.h"
#include "kube/client.h"
#include "kube/watch.h"

namespace tessera::driver {

// Of the main thread alone. Who leads is a lease: the kernel hands it on when its holder dies.
class Leadership {
 public:
  struct Options {
    std::string node_name;
    std::filesystem::path directory;  // The plugin's own.
    std::string boot_id;
  };
  // All must outlive it.
  struct Parts {
    kube::Client& client;
    kube::ResourceApi& api;
    journal::Journal& journal;
    journal::Leases& leases;
    Publisher& publisher;
    Reconciler& reconciler;
    Offer& offer;
    CheckpointKeeper& checkpoint;
    Events& events;
    Trouble& trouble;
  };
  Leadership(Options options, Parts parts);

  // Before anything is served: the Go driver is not in the middle of something, and its claims are ours; or another
  // instance of ours saw to that.
  Result<void> Adopt();
  // Does what the leader has to do, if that is us or nobody. A leader whom the API server does not know any more lets go for
  // some seconds: another instance may have a token that is taken.
  void Lead();
  bool leads() const { return leader_.has_value(); }

  void Pause();   // Neither publishes nor reconciles, until the next Lead().
  void GiveUp();  // To a driver that was there first.
  void End();     // On purpose: leaves the checkpoint as it should be; another instance may go on.

 private:
  using Clock = std::chrono::steady_clock;

  Result<Adoption> AdoptAsLeader();
  bool StandsAside(Clock::time_point now);
  void LetGo();
  void WatchSlices();

  const Options options_;
  const Parts parts_;
  std::optional<UniqueFd> go_lock_;
  std::optional<journal::Lease> leader_, adopted_;
  std::optional<Clock::time_point> refused_since_;
  Clock::duration patience_;  // Grows: alone, we would stand aside in vain.
  Clock::time_point aside_until_{};
  std::unique_ptr<kube::Watch> watch_;
};

}  // namespace tessera::driver
