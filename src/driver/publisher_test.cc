#include "driver/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::chrono::seconds kPatience{20};

// A server in memory that feeds changes back, as the watch does.
class FakeStore final : public SliceStore {
 public:
  Result<std::string> Version() override { return "v1"; }
  Result<api::OwnerReference> Node() override { return api::OwnerReference{"v1", "Node", "node-a", "node-uid"}; }

  Result<bool> TakesInformingTaints() override { return informs_; }

  Result<json::Value> Create(const json::Value& slice) override {
    const std::string name = TextAt(slice, {"metadata", "generateName"}) + std::to_string(++serial_);
    return Put(name, slice, Format("uid-{}", serial_));
  }
  Result<json::Value> Update(const std::string& name, const json::Value& slice) override {
    return Put(name, slice, TextAt(slice, {"metadata", "uid"}));
  }
  Result<void> Delete(const std::string& name, const std::string&, const std::string&) override {
    const std::lock_guard lock(mutex_);
    ++writes_;
    slices_.erase(name);
    changed_.notify_all();
    return {};
  }

  void Fail(int times) { failures_ = times; }
  void DropTaints() { drop_taints_ = true; }
  void KnowNoInformingTaints() { informs_ = false; }
  std::map<std::string, json::Value> slices() const {
    const std::lock_guard lock(mutex_);
    return slices_;
  }
  int writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }
  // Whether it came to hold.
  template <class F>
  bool Wait(F holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return holds(slices_); });
  }
  // The kubelet's wipe, or somebody's delete.
  std::vector<json::Value> Wipe() {
    const std::lock_guard lock(mutex_);
    std::vector<json::Value> gone;
    for (auto& [name, slice] : slices_) gone.push_back(slice);
    slices_.clear();
    return gone;
  }

 private:
  Result<json::Value> Put(const std::string& name, json::Value slice, const std::string& uid) {
    const std::lock_guard lock(mutex_);
    if (failures_ > 0 && failures_-- > 0) return Transient("ApiServerError", "no");
    ++writes_;
    json::Object& metadata = slice.as_object()["metadata"].as_object();
    metadata["name"] = name;
    metadata["uid"] = uid;
    metadata["resourceVersion"] = std::to_string(++serial_);
    if (drop_taints_) {
      if (json::Value* devices = slice.as_object()["spec"].as_object().if_contains("devices")) {
        for (json::Value& device : devices->as_array()) device.as_object().erase("taints");
      }
    }
    slices_[name] = slice;
    changed_.notify_all();
    return slice;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, json::Value> slices_;
  int serial_ = 0, writes_ = 0;
  std::atomic<int> failures_ = 0;
  std::atomic<bool> drop_taints_ = false, informs_ = true;
};

class PublisherTest : public ::testing::Test {
 protected:
  static std::vector<api::Device> Devices(std::size_t count) {
    std::vector<api::Device> devices;
    for (std::size_t i = 0; i < count; ++i) devices.push_back({Format("gpu-{}", i), {}, {}, {}});
    return devices;
  }
  static std::size_t DeviceCount(const std::map<std::string, json::Value>& slices) {
    std::size_t count = 0;
    for (const auto& [name, slice] : slices) {
      if (const json::Value* devices = slice.at("spec").as_object().if_contains("devices"))
        count += devices->as_array().size();
    }
    return count;
  }
  bool Published(std::size_t devices) {
    return store_.Wait([&](const auto& slices) { return !slices.empty() && DeviceCount(slices) == devices; });
  }

  FakeStore store_;
  FakeEvents sink_;
  Metrics metrics_{"node-a", "test"};
  Events events_{{.node_name = "node-a"}, sink_, metrics_};
  Publisher publisher_{{.node_name = "node-a",
                        .settle = std::chrono::milliseconds(1),
                        .retry_from = std::chrono::milliseconds(1),
                        .conflict_after = 3,
                        .conflict_wait_from = std::chrono::hours(1),
                        // Longer than the machine is up: the first conflict is no repetition.
                        .conflict_wait_to = std::chrono::years(10)},
                       store_,
                       events_,
                       metrics_};
};

TEST_F(PublisherTest, WritesOnceItLeadsAndKnowsWhatIsThere) {
  publisher_.SetDevices(Devices(2));
  publisher_.SetActive(true);
  EXPECT_EQ(store_.writes(), 0);  // What is there is not known yet.
  publisher_.OnList({});
  EXPECT_TRUE(Published(2));
}

TEST_F(PublisherTest, FollowsTheDevices) {
  publisher_.OnList({});
  publisher_.SetActive(true);
  publisher_.SetDevices(Devices(0));
  EXPECT_TRUE(Published(0));
  publisher_.SetDevices(Devices(100));
  EXPECT_TRUE(Published(100));
  EXPECT_THAT(store_.slices(), SizeIs(2));
}

TEST_F(PublisherTest, TriesAgainAfterFailures) {
  store_.Fail(3);
  publisher_.OnList({});
  publisher_.SetActive(true);
  publisher_.SetDevices(Devices(1));
  EXPECT_TRUE(Published(1));
  EXPECT_EQ(metrics_.slice_failures.With({"ApiServerError"}).value(), 3);
}

TEST_F(PublisherTest, RecreatesWhatTheKubeletWiped) {
  publisher_.OnList({});
  publisher_.SetActive(true);
  publisher_.SetDevices(Devices(1));
  ASSERT_TRUE(Published(1));
  for (const json::Value& slice : store_.Wipe()) publisher_.OnDeleted(slice);
  EXPECT_TRUE(Published(1));
}

TEST_F(PublisherTest, DoesNotFightASecondPublisher) {
  publisher_.OnList({});
  publisher_.SetActive(true);
  publisher_.SetDevices(Devices(1));
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(Published(1)) << round;
    // Published only counts once the pass has ended.
    while (!publisher_.published()) std::this_thread::yield();
    json::Value edited = store_.slices().begin()->second;
    edited.as_object()["spec"].as_object().erase("devices");
    edited.as_object()["metadata"].as_object()["managedFields"] =
        json::Array{json::Object{{"manager", "gpu-kubelet-plugin"}, {"time", "2026-01-01T00:00:00Z"}}};
    const int writes = store_.writes();
    publisher_.OnChanged(edited);
    while (round < 2 && store_.writes() == writes) std::this_thread::yield();
  }
  while (!publisher_.failure()) std::this_thread::yield();
  EXPECT_EQ(publisher_.failure()->code(), "SecondPublisher");
  EXPECT_THAT(publisher_.failure()->message(), HasSubstr("\"gpu-kubelet-plugin\""));
  while (sink_.texts().empty()) std::this_thread::yield();
  EXPECT_THAT(sink_.texts(), Contains(HasSubstr("SecondPublisher: \"gpu-kubelet-plugin\" also writes")));
}

TEST_F(PublisherTest, WithdrawsWhatItCannotTaint) {
  store_.DropTaints();
  publisher_.OnList({});
  publisher_.SetActive(true);
  auto devices = Devices(2);
  devices[0].taints = {{"k", "", "NoSchedule"}};
  publisher_.SetDevices(devices);
  EXPECT_TRUE(Published(1));
  while (sink_.texts().empty()) std::this_thread::yield();
  EXPECT_THAT(sink_.texts(), Contains(HasSubstr("DRADeviceTaints is probably off")));
}

TEST_F(PublisherTest, SendsTaintsThatInformOnlyWhereTheyAreKnown) {
  const auto taints = [this] {
    const json::Value slice = store_.slices().begin()->second;
    const json::Value* list = slice.at("spec").at("devices").at(0).as_object().if_contains("taints");
    return list == nullptr ? 0U : list->as_array().size();
  };
  publisher_.OnList({});
  publisher_.SetActive(true);
  auto devices = Devices(1);
  devices[0].taints = {{"k", "", "NoSchedule"}, {"m", "", "None"}};
  publisher_.SetDevices(devices);
  ASSERT_TRUE(Published(1));
  EXPECT_EQ(taints(), 2U);

  store_.KnowNoInformingTaints();
  const int writes = store_.writes();
  devices[0].taints.push_back({"n", "", "NoSchedule"});
  publisher_.SetDevices(devices);
  while (store_.writes() == writes) std::this_thread::yield();
  EXPECT_EQ(taints(), 2U) << "k and n";
}

TEST_F(PublisherTest, KeepsADeviceWithATaintThatOnlyInformsWhereTaintsAreDropped) {
  store_.DropTaints();
  publisher_.OnList({});
  publisher_.SetActive(true);
  auto devices = Devices(3);
  devices[0].taints = {{"k", "", "NoSchedule"}};
  devices[1].taints = {{"m", "", "None"}};
  publisher_.SetDevices(devices);
  EXPECT_TRUE(Published(2));
}

}  // namespace
}  // namespace tessera::driver
