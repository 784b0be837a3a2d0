// tests/crash/crash_fixture.h: what a kubelet was told about claims, and whether it stays true.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "tests/crash/crash_node.h"

namespace tessera::tests {

// For plugins that judge: a round makes more requests than a node does in a minute.
inline const std::vector<std::string> kUnlimited{"--kube-api-qps=1000", "--kube-api-burst=1000"};

// What the kubelet knows of a claim. While a call has no answer, both outcomes are right.
enum class Told : std::uint8_t { kNothing, kPreparing, kPrepared, kUnpreparing, kUnprepared };

struct Subject {
  Kubelet::Claim claim;
  std::vector<std::string> devices;
  Kubelet::Claim thief;  // A claim for the last of these devices.
  Told at_start = Told::kNothing;
  Told told = Told::kNothing;
};

class CrashFixture : public testing::Test {
 protected:
  CrashFixture();

  Node& node() { return crash_.node(); }
  // A claim at the API server, and what is told about it when each round begins.
  Subject& Add(const std::string& name, const std::vector<std::string>& devices, Told at_start = Told::kNothing);

  // Calls of the kubelet; they note the answer.
  void Prepare(Subject& subject);
  void Unprepare(Subject& subject);
  // Asks the plugin to end, and waits until it has.
  static void Stop(Plugin& plugin);

  void BeginRound();  // Round::before
  // A new plugin serves, and what was told is true, also while the API server does not say what the claims are; then
  // everything can be given back, and nothing is left on the node.
  void JudgeAfterRestart();
  // The parts of it. The plugin that is to answer must be registered.
  void ExpectRecordsAsTold();
  void ExpectServedAsTold();
  void ExpectNothingLeft();

  CrashNode crash_;
  std::list<Subject> subjects_;  // Addresses stay.

 private:
  void ExpectHeld(Subject& subject);
  void ExpectFree(const Subject& subject);
  void ExpectRefused(const Kubelet::Claim& thief);

  const Kubelet::Claim everything_;
};

// One test a death, so that they run in parallel.
class CrashTest : public CrashFixture, public testing::WithParamInterface<Death> {};

#define TESSERA_FOR_EACH_DEATH(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(kDeaths), [](const auto& death) { return ToText(death.param); })

}  // namespace tessera::tests
