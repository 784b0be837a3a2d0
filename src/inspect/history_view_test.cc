#include "inspect/history_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"

namespace tessera::inspect {
namespace {

using ::testing::HasSubstr;

health::History Sample() {
  return {{{.claim_namespace = "ml",
            .name = "train",
            .uid = "uid-1",
            .finished = 1'700'000'000,
            .devices = {{"gpu-0", "GPU-0", health::State::kUnhealthy, health::Health::kUnhealthy, "Xid79: gone."},
                        {"gpu-1", "GPU-1", health::State::kHealthy, health::Health::kHealthy, ""}}},
           {.claim_namespace = "web",
            .name = "chat",
            .uid = "uid-2",
            .finished = 1'700'000'100,
            .devices = {{"gpu-2", "GPU-2", health::State::kHealthy, health::Health::kUnknown, ""}}}}};
}

TEST(HistoryView, ATableHasALineADeviceTheNewestFirst) {
  EXPECT_EQ(RenderHistory(Sample(), {}),
            "FINISHED               CLAIM      DEVICE   HEALTH      MESSAGE\n"
            "2023-11-14T22:15:00Z   web/chat   gpu-2    Unknown     -\n"
            "2023-11-14T22:13:20Z   ml/train   gpu-0    Unhealthy   Xid79: gone.\n"
            "2023-11-14T22:13:20Z   ml/train   gpu-1    Healthy     -\n");
}

TEST(HistoryView, WideNamesStateAndIdentities) {
  const std::string text = RenderHistory(Sample(), {.format = DevicesFormat::kWide});
  EXPECT_THAT(text, HasSubstr("Unhealthy   unhealthy   GPU-0         uid-1       Xid79: gone.\n"));
}

TEST(HistoryView, JsonAndYamlSayTheSame) {
  const auto json = json::ParseJson(RenderHistory(Sample(), {.format = DevicesFormat::kJson}));
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->at("claims").at(1).at("devices").at(0).at("message"), json::Value("Xid79: gone."));
  EXPECT_EQ(json->at("claims").at(1).at("finished"), json::Value("2023-11-14T22:13:20Z"));
  const auto yaml = json::ParseYaml(RenderHistory(Sample(), {.format = DevicesFormat::kYaml}));
  ASSERT_TRUE(yaml.has_value());
  EXPECT_EQ(yaml->at(0), *json);
}

TEST(HistoryView, NothingIsSaidInWords) { EXPECT_THAT(RenderHistory({}, {}), HasSubstr("No claim")); }

}  // namespace
}  // namespace tessera::inspect
