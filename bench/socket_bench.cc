// Several DRA drivers side by side, over their real sockets and with a real API server: how long Prepare and Unprepare
// take, and the floor under them. bench/cluster calls it in a node of a cluster.
//
//   socket_bench --kubeconfig FILE --scratch DIR --rounds 200 < plan.json > times.json
//
//   plan:   [{"driver": "a", "socket": "/…/dra.sock", "claims": [{"namespace": "n", "name": "c", "uid": "…"}, …]}, …]
//   times:  [{"driver": "a", "callers": 8, "prepare": {"p50": 1200.5, "p95": …, "p99": …, "samples": 1600}, …}, …], in µs
//
// Each claim of a driver is allocated to a device of its own. Drivers take turns in short rounds, and the one that was
// first is last in the next: all must see the same noise.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/text.h"
#include "bench/plugin_load.h"
#include "json/decode.h"

namespace tessera::bench {

struct DriverPlan {
  struct Claim {
    std::string namespace_name, name, uid;
  };
  std::string driver, socket;
  std::vector<Claim> claims;
};

template <class F>
void Describe(F& f, DriverPlan::Claim& claim) {
  f.Required("namespace", claim.namespace_name);
  f.Required("name", claim.name);
  f.Required("uid", claim.uid);
}

template <class F>
void Describe(F& f, DriverPlan& plan) {
  f.Required("driver", plan.driver);
  f.Required("socket", plan.socket);
  f.Required("claims", plan.claims);
}

namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path kubeconfig, scratch;
  std::vector<std::size_t> callers{1, 8};
  std::size_t rounds = 200;
};

struct Contestant {
  std::string driver;
  std::vector<tests::Kubelet::Claim> claims;  // One for each caller.
  std::vector<Caller> callers;
  std::vector<LoadTimes> times;
};

std::vector<DriverPlan> ReadPlans() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto value = json::ParseJson(text);
  if (!value) Abort("the plan: " + value.error().Text());
  if (!value->is_array()) Abort("the plan is no list");
  std::vector<DriverPlan> plans;
  for (const json::Value& each : value->as_array()) {
    auto plan = json::Decode<DriverPlan>(each);
    if (!plan) Abort("the plan: " + plan.error().Text());
    plans.push_back(*std::move(plan));
  }
  return plans;
}

Contestant Enter(const DriverPlan& plan, std::size_t callers, const Options& options) {
  if (plan.claims.size() < callers) Abort(Format("{} has fewer claims than callers", plan.driver));
  Contestant contestant{.driver = plan.driver, .claims = {}, .callers = {}, .times = std::vector<LoadTimes>(callers)};
  for (std::size_t i = 0; i < callers; ++i) {
    const auto& claim = plan.claims[i];
    contestant.claims.push_back({claim.namespace_name, claim.name, claim.uid});
    contestant.callers.emplace_back(Caller::Places{.kubeconfig = options.kubeconfig,
                                                   .socket = plan.socket,
                                                   .append_file = options.scratch / Format("{}-{}", plan.driver, i)});
  }
  return contestant;
}

json::Object Percentiles(const Samples& samples) {
  return {{"p50", samples.Percentile(50)},
          {"p95", samples.Percentile(95)},
          {"p99", samples.Percentile(99)},
          {"samples", samples.size()}};
}

json::Object Summary(const Contestant& contestant) {
  const LoadTimes times = Sum(contestant.times);
  return {{"driver", contestant.driver},           {"callers", contestant.callers.size()},
          {"prepare", Percentiles(times.prepare)}, {"unprepare", Percentiles(times.unprepare)},
          {"floor", Percentiles(times.floor)},     {"get", Percentiles(times.get)},
          {"sync", Percentiles(times.sync)},       {"call", Percentiles(times.call)}};
}

void Run(const Options& options) {
  const std::vector<DriverPlan> plans = ReadPlans();
  json::Array results;
  for (const std::size_t callers : options.callers) {
    std::vector<Contestant> contestants;
    for (const DriverPlan& plan : plans) contestants.push_back(Enter(plan, callers, options));
    std::vector<LoadTimes> unused(callers);  // The first round connects, and is not counted.
    for (Contestant& each : contestants) MeasureRound(each.callers, each.claims, unused);
    for (std::size_t round = 0; round < options.rounds; ++round) {
      for (Contestant& each : contestants) MeasureRound(each.callers, each.claims, each.times);
      std::ranges::rotate(contestants, contestants.begin() + 1);
    }
    for (const Contestant& each : contestants) results.push_back(Summary(each));
  }
  std::cout << json::PrintJson(results, 2) << '\n';
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  CLI::App app{"DRA drivers side by side; the plan comes on standard input"};
  Options options;
  app.add_option("--kubeconfig", options.kubeconfig, "May read the claims")->required()->check(CLI::ExistingFile);
  app.add_option("--scratch", options.scratch, "On the disk that holds the drivers' state")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--callers", options.callers, "Callers at once; each number is a measurement")->capture_default_str();
  app.add_option("--rounds", options.rounds, "One Prepare of each caller a round")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Run(options);
  return 0;
}
