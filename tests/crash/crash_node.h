// tests/crash/crash_node.h: a node on which the plugin dies at one durable step after the other, each time from the same
// state. Start here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/prepared_claim.h"
#include "tests/node/node.h"

namespace tessera::tests {

// How the plugin dies at a step (die_steps.h).
enum class Death : std::uint8_t {
  kBefore,   // The step does not happen.
  kAfter,    // It happens, and nothing else: nobody is told.
  kLosing,   // As kBefore, and what was written without a sync is lost.
  kTearing,  // Half of the write happens.
};
std::string ToText(Death death);
inline constexpr Death kDeaths[] = {Death::kBefore, Death::kAfter, Death::kLosing, Death::kTearing};

// In memory, where syncs cost nothing: what is lost is decided by the preloaded library, not by a disk.
class CrashNode {
 public:
  CrashNode();

  Node& node() { return *node_; }

  // What the plugin's and the CDI directory hold now is what each round begins with.
  void Keep();
  // Back to that. The kubelet has forgotten every instance, the slices are gone, and no fault is scripted.
  void Restore();

  std::unique_ptr<Plugin> StartDoomed(long step, Death death, std::vector<std::string> extra = {});
  // Until the kubelet has registered the instance whose endpoint ends so, or the plugin is dead.
  bool WaitRegistered(Plugin& plugin, const std::string& endpoint = "dra.sock");
  // Until the kubelet has noticed that no plugin is there any more. Its slices are gone then, so that the next one's show.
  void AwaitDisconnect();
  // After a power loss the kernel is another.
  void Reboot() { SetBootId("boot-2"); }
  std::vector<std::string> Steps() const;  // Of the doomed plugin so far: "3 fdatasync /dir/file".

  // What the journal holds, by UID. Read from a copy: looking repairs it.
  std::map<std::string, api::PreparedClaim> Recorded() const;
  bool IsRecorded(const Kubelet::Claim& claim) const { return Recorded().contains(claim.uid); }
  std::vector<std::string> PluginFiles() const;  // Names, sorted.

 private:
  void SetBootId(const std::string& id);
  std::filesystem::path kept() const { return node_->dir() / "kept"; }
  std::filesystem::path step_log() const { return node_->dir() / "steps"; }

  std::unique_ptr<Node> node_;
};

// One round: what the doomed plugin lives through until it ends, and what must hold afterwards.
struct Round {
  std::vector<std::string> arguments = {};
  std::function<void(Plugin& doomed)> live;
  std::function<void()> judge;
  std::function<void()> skip = [] {};    // Instead of judge, when there was nothing to judge.
  std::function<void()> before = [] {};  // Before the doomed plugin starts.
  long first_step = 1;
};
// Rounds for every step, until the plugin lives through two of them. Stops at the first failure and says where it was.
void DieAtEachStep(CrashNode& crash, Death death, const Round& round);

}  // namespace tessera::tests
