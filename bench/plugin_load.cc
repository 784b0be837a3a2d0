#include "bench/plugin_load.h"

namespace tessera::bench {
namespace {

using std::chrono::steady_clock;
using Claims = std::vector<tests::Kubelet::Claim>;

constexpr std::size_t kBatch = 4;        // Claims of one caller in one round.
constexpr std::size_t kManyCallers = 8;  // For what is not measured.

template <class Step>
void Time(Samples& samples, const Step& step) {
  const auto start = steady_clock::now();
  step();
  samples.Add(steady_clock::now() - start);
}

void MeasureFloor(Caller& caller, const std::string& object, LoadTimes& times) {
  Time(times.floor, [&] {
    Time(times.get, [&] { caller.GetObject(object); });
    Time(times.unprepare_floor, [&] {
      Time(times.sync, [&] { caller.AppendAndSync(); });
      Time(times.call, [&] { caller.CallEmpty(); });
    });
  });
}

// The claims that caller `index` of `callers` has to do with.
Claims Share(const Claims& claims, std::size_t index, std::size_t callers) {
  Claims share;
  for (std::size_t i = index; i < claims.size(); i += callers) share.push_back(claims[i]);
  return share;
}

}  // namespace

LoadTimes Sum(const std::vector<LoadTimes>& parts) {
  LoadTimes sum;
  for (const LoadTimes& part : parts) {
    for (Samples LoadTimes::* kind : {&LoadTimes::get, &LoadTimes::sync, &LoadTimes::call, &LoadTimes::floor,
                                      &LoadTimes::unprepare_floor, &LoadTimes::prepare, &LoadTimes::unprepare}) {
      (sum.*kind).Add(part.*kind);
    }
  }
  return sum;
}

void MeasureRound(std::vector<Caller>& callers, const Claims& claims, std::vector<LoadTimes>& times) {
  const auto for_each_claim = [&](const auto& step) {
    AllAtOnce(callers, [&](std::size_t i, Caller& caller) {
      for (const auto& claim : Share(claims, i, callers.size())) step(claim, caller, times[i]);
    });
  };
  for_each_claim([](const auto& claim, Caller& caller, LoadTimes& took) {
    MeasureFloor(caller, standin::NodeSetup::ClaimPath(claim), took);
  });
  for_each_claim(
      [](const auto& claim, Caller& caller, LoadTimes& took) { Time(took.prepare, [&] { caller.Prepare(claim); }); });
  for_each_claim([](const auto& claim, Caller& caller, LoadTimes& took) {
    Time(took.unprepare, [&] { caller.Unprepare(claim); });
  });
}

LoadTimes Measure(PluginNode& node, const Load& load) {
  std::vector<Caller> callers = node.Connect(load.callers);
  std::vector<LoadTimes> times(load.callers);
  const std::size_t batch = load.admin_access ? kBatch : 1;  // A GPU of one's own takes one claim at a time.
  const std::size_t in_round = batch * load.callers;
  const Claims first = node.MakeClaims(1, true);
  AllAtOnce(callers, [&](std::size_t, Caller& caller) {  // Connects.
    caller.GetObject(standin::NodeSetup::ClaimPath(first.front()));
    caller.CallEmpty();
  });
  node.DeleteClaims(first);
  for (std::size_t done = 0; done < load.samples; done += in_round) {
    const Claims claims = node.MakeClaims(in_round, load.admin_access);
    MeasureRound(callers, claims, times);
    node.DeleteClaims(claims);
  }
  return Sum(times);
}

Claims PrepareMany(PluginNode& node, std::size_t count) {
  Claims claims = node.MakeClaims(count, true);
  std::vector<Caller> callers = node.Connect(kManyCallers);
  AllAtOnce(callers, [&](std::size_t i, Caller& caller) {
    for (const auto& claim : Share(claims, i, kManyCallers)) caller.Prepare(claim);
  });
  return claims;
}

void UnprepareMany(PluginNode& node, const Claims& claims) {
  std::vector<Caller> callers = node.Connect(kManyCallers);
  AllAtOnce(callers, [&](std::size_t i, Caller& caller) {
    for (const auto& claim : Share(claims, i, kManyCallers)) caller.Unprepare(claim);
  });
  node.DeleteClaims(claims);
}

}  // namespace tessera::bench
