#include "tests/crash/crash_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <set>

#include "base/text.h"
#include "journal/journal.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

constexpr long kMaxSteps = 1'000;
constexpr const char* kRandom = "proc/sys/kernel/random";

bool IsDead(Plugin& plugin) { return plugin.WaitFor(std::chrono::milliseconds(0)); }

bool IsWrite(const std::string& step) {
  constexpr std::array kWrites{" write ", " pwrite ", " writev "};
  return std::ranges::any_of(kWrites, [&](const char* call) { return step.contains(call); });
}

std::unique_ptr<Node> MakeNode() {
  if (fs::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 1);
  return std::make_unique<Node>();
}

// Files only: a socket is nothing without its process.
void CopyFiles(const fs::path& from, const fs::path& to) {
  if (!fs::exists(from)) return;
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    if (entry.is_regular_file()) fs::copy_file(entry.path(), to / entry.path().filename());
  }
}

// "write checkpoint.json.XXXXXX" for "17 write /dir/checkpoint.json.a8Gx2c": one name for what is the same in each round.
std::string KindOf(const std::string& step) {
  const auto parts = Split(step, ' ');
  if (parts.size() != 3) return step;
  std::string file = fs::path(parts[2]).filename().string();
  if (file.starts_with(".spec.")) file = ".spec.tmp";
  if (const auto dot = file.rfind('.'); dot != std::string::npos && file.size() - dot == 7) file.resize(dot);
  return Format("{} {}", parts[1], file);
}

}  // namespace

std::string ToText(Death death) {
  constexpr std::array kNames{"Before", "After", "Losing", "Tearing"};
  return kNames.at(static_cast<std::size_t>(death));
}

CrashNode::CrashNode() : node_(MakeNode()) {
  fs::create_directories(node_->driver_root() / kRandom);
  SetBootId("boot-1");
  Keep();
}

void CrashNode::SetBootId(const std::string& id) {
  ReplaceFile(node_->driver_root() / kRandom / "boot_id", id + "\n").value();
}

void CrashNode::Keep() {
  fs::remove_all(kept());
  CopyFiles(node_->plugin_dir(), kept() / "plugin");
  CopyFiles(node_->cdi_dir(), kept() / "cdi");
}

void CrashNode::Restore() {
  for (const auto& entry : fs::directory_iterator(node_->registry())) fs::remove(entry.path());
  // A plugin that was just killed may still be on its way out.
  Eventually([&] {
    std::error_code error;
    fs::remove_all(node_->plugin_dir(), error);
    return !error;
  });
  CopyFiles(kept() / "plugin", node_->plugin_dir());
  for (const auto& entry : fs::directory_iterator(node_->cdi_dir())) fs::remove(entry.path());
  CopyFiles(kept() / "cdi", node_->cdi_dir());
  fs::remove(step_log());
  SetBootId("boot-1");
  node_->api().faults().Clear();
  if (!node_->WaitRegistered(0)) Abort("the kubelet does not forget a plugin");
  AwaitDisconnect();
}

void CrashNode::AwaitDisconnect() {
  const auto is_disconnected = [this] {
    return std::ranges::none_of(node_->kubelet().Instances(kDriver), &Kubelet::Instance::connected);
  };
  if (!Eventually(is_disconnected)) Abort("the kubelet does not notice a plugin's end");
  node_->api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).value();
}

std::unique_ptr<Plugin> CrashNode::StartDoomed(long step, Death death, std::vector<std::string> extra) {
  const auto flag = [](bool on) { return std::string(on ? "1" : "0"); };
  return node_->Start(std::move(extra),
                      {{"LD_PRELOAD", TESSERA_BINARY_DIR "/tests/die_at.so"},
                       {"TESSERA_DIE_EXE", "tessera-kubelet-plugin"},
                       {"TESSERA_DIE_DIRS", Format("{}:{}:{}", node_->plugin_dir().string(), node_->cdi_dir().string(),
                                                   node_->registry().string())},
                       {"TESSERA_DIE_LOG", step_log().string()},
                       {"TESSERA_DIE_AT", std::to_string(step)},
                       {"TESSERA_DIE_AFTER", flag(death == Death::kAfter)},
                       {"TESSERA_DIE_LOSE", flag(death == Death::kLosing)},
                       {"TESSERA_DIE_TEAR", flag(death == Death::kTearing)},
                       kAllowPreload});
}

bool CrashNode::WaitRegistered(Plugin& plugin, const std::string& endpoint) {
  const auto registered = [&] {
    return std::ranges::any_of(node_->kubelet().Instances(kDriver), [&](const Kubelet::Instance& instance) {
      return instance.connected && instance.endpoint.ends_with(endpoint);
    });
  };
  return Eventually([&] { return IsDead(plugin) || registered(); }) && !IsDead(plugin);
}

std::vector<std::string> CrashNode::Steps() const {
  std::vector<std::string> steps;
  const auto log = ReadFile(step_log());
  if (!log) return steps;
  for (const std::string_view line : Split(*log, '\n')) {
    if (!line.empty()) steps.emplace_back(line);
  }
  return steps;
}

std::map<std::string, api::PreparedClaim> CrashNode::Recorded() const {
  std::map<std::string, api::PreparedClaim> claims;
  const auto text = ReadFile(node_->plugin_dir() / "journal");
  if (!text) return claims;
  const TempDir copy = TempDir::Create("journal").value();
  ReplaceFile(copy.path() / "journal", *text, 0600).value();
  for (const auto& claim : journal::Journal::Open({.directory = copy.path()})->All()) {
    claims.emplace(claim->claim.uid, *claim);
  }
  return claims;
}

std::vector<std::string> CrashNode::PluginFiles() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(node_->plugin_dir())) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

void DieAtEachStep(CrashNode& crash, Death death, const Round& round) {
  const auto start = std::chrono::steady_clock::now();
  std::set<std::string> kinds;
  long deaths = 0;
  long step = round.first_step;
  for (int survived = 0; survived < 2 && step < kMaxSteps; ++step) {
    crash.Restore();
    round.before();
    const auto doomed = crash.StartDoomed(step, death, round.arguments);
    round.live(*doomed);
    const bool died = doomed->Wait() != 0;
    survived = died ? 0 : survived + 1;
    const auto steps = crash.Steps();
    const std::string last = steps.empty() ? "" : steps.back();
    if (death == Death::kTearing && died && !IsWrite(last)) {  // There are no halves of it: as kBefore.
      round.skip();
      continue;
    }
    if (died) {
      ++deaths;
      kinds.insert(KindOf(last));
    }
    if (died && death == Death::kLosing) crash.Reboot();
    SCOPED_TRACE(Format("died {} step {}", ToText(death), last));
    round.judge();
    if (testing::Test::HasFailure()) {
      std::cout << "the plugin that died said:\n" << doomed->Log();
      return;
    }
  }
  EXPECT_LT(step, kMaxSteps);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << Format("died {} times, at {} kinds of steps, in {:.1f} s\n", deaths, kinds.size(), took.count());
  for (const std::string& kind : kinds) std::cout << "  " << kind << "\n";
}

}  // namespace tessera::tests
