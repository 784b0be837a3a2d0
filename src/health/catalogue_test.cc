#include "health/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tessera::health {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Catalogue, KnowsTheCodesThatMatterMost) {
  struct Case {
    std::uint64_t code;
    Class cls;
    Severity severity;
    Proof proof;
  };
  constexpr std::array kCases{
      Case{13, Class::kApplication, Severity::kNone, Proof::kQuiet},
      Case{31, Class::kApplication, Severity::kNone, Proof::kQuiet},
      Case{43, Class::kApplication, Severity::kNone, Proof::kQuiet},
      Case{45, Class::kApplication, Severity::kNone, Proof::kQuiet},
      Case{48, Class::kMemory, Severity::kUnusable, Proof::kReset},
      Case{63, Class::kMemory, Severity::kNone, Proof::kQuiet},
      Case{64, Class::kMemory, Severity::kUnusable, Proof::kReset},
      Case{74, Class::kLink, Severity::kUnusable, Proof::kReset},
      Case{79, Class::kLost, Severity::kLost, Proof::kReset},
      Case{94, Class::kMemory, Severity::kDegraded, Proof::kQuiet},
      Case{95, Class::kMemory, Severity::kUnusable, Proof::kReset},
      Case{119, Class::kFirmware, Severity::kUnusable, Proof::kReset},
      Case{154, Class::kAdvice, Severity::kNone, Proof::kQuiet},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.code);
    const XidInfo& xid = Catalogue::Get().Xid(c.code);
    const Rule& rule = Catalogue::Get().Action(xid.action).rule;
    EXPECT_TRUE(Catalogue::Get().KnowsXid(c.code));
    EXPECT_EQ(xid.cls, c.cls);
    EXPECT_EQ(rule.severity, c.severity);
    EXPECT_EQ(rule.proof, c.proof);
  }
}

TEST(Catalogue, AnUnknownCodeIsTakenSeriously) {
  for (const std::uint64_t code : {std::uint64_t{0}, std::uint64_t{999}, ~std::uint64_t{0}}) {
    EXPECT_FALSE(Catalogue::Get().KnowsXid(code));
    EXPECT_EQ(&Catalogue::Get().Xid(code), &Catalogue::Get().unknown());
    EXPECT_EQ(Catalogue::Get().Action(Catalogue::Get().Xid(code).action).rule.severity, Severity::kUnusable);
  }
}

TEST(Catalogue, EveryEntryTellsWhatItIsAndWhatToDo) {
  for (const XidInfo& xid : Catalogue::Get().xids()) {
    EXPECT_FALSE(xid.codes.empty()) << xid.mnemonic;
    EXPECT_FALSE(xid.meaning.empty()) << xid.mnemonic;
    EXPECT_THAT(xid.meaning, Not(HasSubstr("|"))) << "it goes into a table";
  }
  for (const ActionInfo& action : Catalogue::Get().actions()) {
    EXPECT_TRUE(action.next.ends_with('.') || action.next.ends_with(").")) << action.name;
    EXPECT_NE(action.rule.proof, Proof::kGone) << action.name << ": an Xid is no condition that could be gone";
    EXPECT_TRUE(action.rule.proof != Proof::kQuiet || action.rule.quiet.count() > 0) << action.name;
  }
}

TEST(Catalogue, EveryReasonCanEnd) {
  std::set<std::string> codes;
  for (const ReasonInfo& reason : Catalogue::Get().reasons()) {
    const std::string code = ToText(reason.kind);
    EXPECT_TRUE(codes.insert(code).second) << code;
    EXPECT_NE(reason.rule.severity, Severity::kNone) << code;
    EXPECT_FALSE(reason.meaning.empty()) << code;
    EXPECT_TRUE(reason.next.ends_with('.')) << code;
    EXPECT_TRUE(reason.rule.proof != Proof::kQuiet || reason.rule.quiet.count() > 0) << code;
    EXPECT_TRUE(reason.rule.proof != Proof::kQuiet || reason.rule.window.count() > 0) << code;
  }
}

TEST(Catalogue, KeepsTheTaintKeysOfTheGoDriver) {
  EXPECT_EQ(Catalogue::Get().Reason(Kind::kXid).taint, "xid");
  EXPECT_EQ(Catalogue::Get().Reason(Kind::kGpuLost).taint, "gpu-lost");
  EXPECT_EQ(Catalogue::Get().Reason(Kind::kUnmonitored).taint, "unmonitored");
}

}  // namespace
}  // namespace tessera::health
