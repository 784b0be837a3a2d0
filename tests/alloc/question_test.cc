// One question asked of many nodes, and one allocator for many questions: nobody sees what was asked before.
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/alloc/generator.h"
#include "tests/alloc/problem.h"

namespace tessera::tests {
namespace {

// A node with the GPUs "a" and "b" in a pool of its own.
api::ResourceSlice SliceOf(const std::string& node) {
  return {.driver = "d",
          .node_name = node,
          .pool_name = node,
          .pool_slice_count = 1,
          .devices = {{.name = "a"}, {.name = "b"}},
          .name = node};
}

api::AllocationResult Held(const std::string& node, std::string device) {
  return {.request = "r", .driver = "d", .pool = node, .device = std::move(device)};
}

// What three nodes answer to one question: one GPU of `full` and `half` each is held, and the other of `full`, too.
std::vector<std::string> AnswersOfThreeNodes(const api::DeviceRequest& request) {
  const alloc::Rules rules = alloc::RulesFor(cel::Release::k1_37);
  const alloc::Inventory inventory({SliceOf("full"), SliceOf("half"), SliceOf("free")});
  alloc::AllocatedState allocated(rules.gates);
  for (const auto& held : {Held("full", "a"), Held("full", "b"), Held("half", "a"), Held("half", "gone")}) {
    allocated.Add(held);
  }
  const alloc::Classes classes{{"any", {.name = "any"}}};
  const alloc::Allocator allocator(inventory, allocated, classes, SelectorsOf(rules), rules);
  const std::vector<alloc::Claim> claims{
      {.ref = {"default", "c", "u"}, .spec = {.requests = {{.name = "r", .exactly = request}}}}};
  const alloc::Question question = allocator.Prepare(claims);
  std::vector<std::string> answers;
  for (const std::string name : {"full", "half", "free"}) {
    const auto outcome = allocator.Allocate({.name = name, .labels = {}}, question);
    std::string& answer = answers.emplace_back();
    if (!outcome || !outcome->allocated) continue;
    for (const api::AllocationResult& result : outcome->allocations[0].results) answer += result.device;
  }
  return answers;
}

TEST(Question, IsAnsweredForEachNodeByItself) {
  using Answers = std::vector<std::string>;
  EXPECT_EQ(AnswersOfThreeNodes({.device_class = "any", .count = 1}), Answers({"", "b", "a"}));
  EXPECT_EQ(AnswersOfThreeNodes({.device_class = "any", .count = 2}), Answers({"", "", "ab"}));
  EXPECT_EQ(AnswersOfThreeNodes({.device_class = "any", .allocation_mode = "All"}), Answers({"", "", "ab"}));
  EXPECT_EQ(AnswersOfThreeNodes({.device_class = "any", .count = 1, .admin_access = true}), Answers({"a", "a", "a"}));
}

TEST(Question, LeavesNoTraceForTheNextNode) {
  const alloc::Node elsewhere{.name = "elsewhere", .labels = {}};
  for (const cel::Release release : {cel::Release::k1_36, cel::Release::k1_37}) {
    const alloc::Rules rules = alloc::RulesFor(release);
    for (std::uint64_t seed = 700'000; seed < 700'500; ++seed) {
      const auto problem = DecodeProblem(GenerateProblem(seed)).value();
      const alloc::Inventory inventory(problem.slices);
      alloc::AllocatedState allocated(rules.gates);
      for (const api::AllocationResult& result : problem.allocated) allocated.Add(result);
      const alloc::Allocator allocator(inventory, allocated, problem.classes, SelectorsOf(rules), rules);
      const alloc::Question question = allocator.Prepare(problem.claims);
      const alloc::SearchLimits limits{.max_steps = 100'000};
      const std::string first = AnswerOf(allocator.Allocate(problem.node, question, limits));
      const std::string other = AnswerOf(allocator.Allocate(elsewhere, question, limits));
      EXPECT_EQ(AnswerOf(allocator.Allocate(problem.node, question, limits)), first) << "seed " << seed;
      EXPECT_EQ(AnswerOf(Solve(problem, rules, limits)), first) << "seed " << seed;
      EXPECT_EQ(AnswerOf(allocator.Allocate(elsewhere, problem.claims, limits)), other) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tessera::tests
