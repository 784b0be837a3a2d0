// alloc_bench: our side of bench/alloc. Kubernetes' side, tests/alloc/oracle/bench.go, does the same things in the same
// order and prints the same fields.
//
//   alloc_bench allocate RELEASE FILE MILLISECONDS    {"answer": …, "ns": …} on one line
//   alloc_bench ready FILE MILLISECONDS               {"inventory_ns": …, "allocator_ns": …}: slices, and with them what
//                                                     claims hold, made ready for any number of questions
//   alloc_bench cel RELEASE FILE MILLISECONDS         {"answer": …, "compile_ns": …, "evaluate_ns": …} a line, one an
//                                                     expression; cold_evaluate_ns: with a device that is made ready first
#include <time.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "api/device_facts.h"
#include "base/fd.h"
#include "base/text.h"
#include "cel/device_selector.h"
#include "json/decode.h"
#include "tests/alloc/problem.h"
#include "tests/support/must.h"

namespace tessera::bench {
namespace {

using tests::AllocationProblem;
using tests::Must;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Of a file from inputs.py.
struct AllocationInput {
  std::vector<std::string> nodes;  // Asked in this order, until one has what the claims want.
  json::Value problem;
};
template <class F>
void Describe(F& f, AllocationInput& input) {
  f.Required("nodes", input.nodes);
  f.Required("problem", input.problem);
}

struct CelInput {
  std::vector<std::string> expressions;
  json::Value slice;  // Its first device is asked.
};
template <class F>
void Describe(F& f, CelInput& input) {
  f.Required("expressions", input.expressions);
  f.Required("slice", input.slice);
}

template <class Input>
Input Read(const std::string& file) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  return Must(json::Decode<Input>(Must(json::ParseJson(Must(ReadFile(file, kMaxBytes))))));
}

// Of this thread: what others do on a busy machine is not part of it.
double CpuNanoseconds() {
  timespec now{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) Abort("there is no clock of the thread");
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double NanosecondsOf(std::size_t times, const auto& operation) {
  const double start = CpuNanoseconds();
  for (std::size_t i = 0; i < times; ++i) operation();
  return (CpuNanoseconds() - start) / static_cast<double>(times);
}

// The median of as many samples as fit into the time, five at least. A sample repeats what is too short for the clock.
double MedianNanoseconds(milliseconds time, const auto& operation) {
  constexpr double kSampleNanoseconds = 200'000;
  const double once = NanosecondsOf(1, operation);  // Also warms up.
  const auto repeats = static_cast<std::size_t>(std::max(1.0, kSampleNanoseconds / once));
  std::vector<double> samples;
  for (const auto end = Clock::now() + time; samples.size() < 5 || Clock::now() < end;) {
    samples.push_back(NanosecondsOf(repeats, operation));
  }
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

void Print(const json::Value& value) { std::cout << json::PrintJson(value) << '\n'; }

// The first node that has it, and what the scheduler would write into the claims.
std::string Ask(const alloc::Allocator& allocator, std::span<const alloc::Node> nodes,
                std::span<const alloc::Claim> claims) {
  const alloc::Question question = allocator.Prepare(claims);
  for (const alloc::Node& node : nodes) {
    const auto outcome = allocator.Allocate(node, question);
    if (!outcome || outcome->allocated) return Format("{}: {}", node.name, tests::AnswerOf(outcome));
  }
  return "-";
}

alloc::AllocatedState AllocatedOf(const AllocationProblem& problem, const alloc::Rules& rules) {
  alloc::AllocatedState allocated(rules.gates);
  for (const api::AllocationResult& result : problem.allocated) allocated.Add(result);
  return allocated;
}

int Allocate(std::string_view release, const std::string& file, milliseconds time) {
  auto input = Read<AllocationInput>(file);
  const AllocationProblem problem = Must(tests::DecodeProblem(input.problem));
  const alloc::Rules rules = alloc::RulesFor(tests::ReleaseOf(release));
  const alloc::Inventory inventory(problem.slices);
  const alloc::AllocatedState allocated = AllocatedOf(problem, rules);
  const alloc::Allocator allocator(inventory, allocated, problem.classes, tests::SelectorsOf(rules), rules);
  std::vector<alloc::Node> nodes;
  for (std::string& name : input.nodes) nodes.push_back({.name = std::move(name), .labels = {}});
  const std::string answer = Ask(allocator, nodes, problem.claims);
  const double median = MedianNanoseconds(time, [&] {
    const alloc::Question question = allocator.Prepare(problem.claims);
    for (const alloc::Node& node : nodes) {
      const auto outcome = allocator.Allocate(node, question);
      if (!outcome || outcome->allocated) break;
    }
  });
  Print({{"answer", answer}, {"ns", median}});
  return 0;
}

int MakeReady(const std::string& file, milliseconds time) {
  const AllocationProblem problem = Must(tests::DecodeProblem(Read<AllocationInput>(file).problem));
  const alloc::Rules rules = alloc::RulesFor(cel::Release::k1_37);
  const alloc::Inventory inventory(problem.slices);
  const alloc::AllocatedState allocated = AllocatedOf(problem, rules);
  cel::SelectorCache& selectors = tests::SelectorsOf(rules);
  const double allocator = MedianNanoseconds(
      time, [&] { const alloc::Allocator made(inventory, allocated, problem.classes, selectors, rules); });
  const double slices = MedianNanoseconds(time, [&] { const alloc::Inventory made(problem.slices); });
  Print({{"inventory_ns", slices}, {"allocator_ns", allocator}});
  return 0;
}

int Cel(std::string_view release, const std::string& file, milliseconds time) {
  const auto input = Read<CelInput>(file);
  const api::ResourceSlice slice = Must(api::DecodeSlice(input.slice));
  const cel::DeviceFacts facts = api::FactsOf(slice.devices.front(), slice.driver);
  const cel::Environment environment{.release = tests::ReleaseOf(release)};
  for (const std::string& expression : input.expressions) {
    const cel::DeviceSelector selector = Must(cel::Compile(expression, environment));
    const bool match = Must(selector.Matches(facts));
    const double compile = MedianNanoseconds(time, [&] { (void)cel::Compile(expression, environment); });
    const double evaluate = MedianNanoseconds(time, [&] { (void)selector.Matches(facts); });
    const double made_ready =
        MedianNanoseconds(time, [&] { (void)selector.Matches(api::FactsOf(slice.devices.front(), slice.driver)); });
    Print({{"answer", match}, {"compile_ns", compile}, {"evaluate_ns", evaluate}, {"cold_evaluate_ns", made_ready}});
  }
  return 0;
}

int Main(std::span<char*> args) {
  const std::string_view command = args.size() > 1 ? args[1] : "";
  const auto given = ParseNumber<std::uint32_t>(args.back());
  const milliseconds time(given.value_or(0));
  if (given && args.size() == 5 && command == "allocate") return Allocate(args[2], args[3], time);
  if (given && args.size() == 4 && command == "ready") return MakeReady(args[2], time);
  if (given && args.size() == 5 && command == "cel") return Cel(args[2], args[3], time);
  std::cerr << "usage: alloc_bench allocate RELEASE FILE MILLISECONDS | ready FILE MILLISECONDS | "
               "cel RELEASE FILE MILLISECONDS\n";
  return 2;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) { return tessera::bench::Main({argv, static_cast<std::size_t>(argc)}); }
