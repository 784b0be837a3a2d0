#include "inspect/explain_groups_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::inspect {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kRoom = 25;

RequestReport Request(std::string name, bool lacking, std::size_t reasons) {
  RequestReport request{
      .claim = "default/a", .request = std::move(name), .wanted = "1", .devices = reasons, .lacking = lacking};
  for (std::size_t i = 0; i < reasons; ++i) {
    request.reasons.push_back({.kind = "taint", .text = Format("reason {}", i), .devices = {{"d/p/gpu-0", ""}}});
  }
  return request;
}

NodeGroup Group(std::string node, std::size_t requests, std::size_t reasons) {
  NodeGroup group{.nodes = {std::move(node)}};
  for (std::size_t i = 0; i < requests; ++i) group.requests.push_back(Request(Format("r{}", i), true, reasons));
  return group;
}

TEST(GroupsView, StaysWithinItsRoomWhateverThereIs) {
  for (const std::size_t room : {12U, 13U, 25U}) {
    for (const std::size_t nodes : {1U, 2U, 5U, 6U, 40U}) {
      for (const std::size_t requests : {1U, 3U, 32U}) {
        for (const std::size_t reasons : {0U, 1U, 2U, 7U}) {
          std::vector<NodeGroup> groups;
          for (std::size_t i = 0; i < nodes; ++i) groups.push_back(Group(Format("node-{}", i), requests, reasons));
          Screen view = ViewOf(groups, false, room);
          EXPECT_LE(view.size(), room) << nodes << " nodes, " << requests << " requests, " << reasons << " reasons";
          const std::string text = view.Take();
          EXPECT_THAT(text, HasSubstr("request r0:"));
          const bool cut = nodes * (1 + requests * (1 + reasons)) >= room || nodes > 5 || reasons > 5;
          EXPECT_EQ(text.contains("-o json"), cut) << text;
        }
      }
    }
  }
}

TEST(GroupsView, WhatIsSmallStaysWholeBesideWhatIsLarge) {
  const std::string text = ViewOf({Group("large", 30, 2), Group("small", 2, 2)}, false, kRoom).Take();
  EXPECT_THAT(text, AllOf(HasSubstr("  large\n    request r0:"), HasSubstr("more requests\n  small\n    request r0"),
                          HasSubstr("-o json has what is left out here")));
  EXPECT_TRUE(text.substr(text.find("small")).contains("request r1: wants 1"));
}

TEST(GroupsView, AFlagThatIsNotThereIsNotNamed) {
  for (const std::size_t nodes : {1U, 40U}) {
    const std::vector<NodeGroup> groups(nodes, Group("large", 30, 7));
    EXPECT_THAT(ViewOf(groups, false, kRoom, false).Take(), AllOf(HasSubstr(" more "), Not(HasSubstr("-o json"))));
  }
}

TEST(GroupsView, RequestsThatLackDevicesAreToldFirstWhenNotAllAre) {
  NodeGroup group = Group("node-a", 0, 0);
  for (int i = 0; i < 30; ++i) group.requests.push_back(Request(Format("r{}", i), i == 29, 1));
  EXPECT_THAT(ViewOf({group}, false, kRoom).Take(), HasSubstr("  node-a\n    request r29:"));
  group.requests.erase(group.requests.begin(), group.requests.begin() + 25);
  EXPECT_THAT(ViewOf({group}, false, kRoom).Take(), HasSubstr("  node-a\n    request r25:")) << "all are told";
}

TEST(GroupsView, FaultsOfPoolsAndConflictsAreNotLostAmongRequests) {
  NodeGroup group = Group("node-a", 30, 1);
  group.pools = {{.driver = "d", .pool = "p", .state = "invalid", .reason = "duplicate device name gpu-0"}};
  group.together = {{.text = "matchAttribute a: 2 devices must have one value", .likeness = ""}};
  EXPECT_THAT(ViewOf({group}, false, kRoom).Take(),
              AllOf(HasSubstr("pool d/p is invalid: duplicate device name gpu-0\n    matchAttribute a"),
                    Not(HasSubstr("more conflict"))));
}

}  // namespace
}  // namespace tessera::inspect
