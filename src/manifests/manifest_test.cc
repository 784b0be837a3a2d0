#include "manifests/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/fd.h"
#include "base/text.h"

namespace tessera::manifests {
namespace {

using ::testing::HasSubstr;

// "kind namespace/name @ document:line", one an object.
std::string Listed(std::string_view text) {
  const auto manifests = ParseManifests(text, "f.yaml");
  if (!manifests.has_value()) return manifests.error().message();
  std::string all;
  for (const Manifest& m : *manifests) {
    all += Format("{} {}/{} @ {}:{}\n", m.kind, m.namespace_name, m.name, m.origin.document, m.origin.line);
  }
  return all;
}

TEST(ParseManifests, TakesDocumentsAndListsApart) {
  EXPECT_EQ(
      Listed("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n# empty\n---\napiVersion: v1\nkind: List\nitems:\n"
             "- apiVersion: v1\n  kind: Pod\n  metadata: {namespace: x, name: b}\n- apiVersion: v1\n  kind: Pod\n"
             "  metadata: {generateName: c-}\n"),
      "Node /a @ 1:1\nPod x/b @ 3:10\nPod /c- @ 3:13\n");
}

TEST(ParseManifests, ReadsJsonAndTypedListsWithoutKinds) {
  EXPECT_EQ(Listed(R"({"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "a"}}]})"),
            "Node /a @ 1:1\n");
}

TEST(ParseManifests, KeepsAKindThatOnlyEndsInList) {
  EXPECT_EQ(Listed("apiVersion: x/v1\nkind: AllowList\nmetadata: {name: a}\n"), "AllowList /a @ 1:1\n");
}

TEST(ParseManifests, KnowsTheLineOfAField) {
  const auto manifests = ParseManifests(
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n  spec:\n    "
      "containers:\n"
      "    - name: c\n",
      "f.yaml");
  ASSERT_TRUE(manifests.has_value());
  EXPECT_EQ(ToText(manifests->at(0).At("spec.containers[0].name")), "f.yaml, document 1, line 10");
}

TEST(ParseManifests, RefusesWithFileDocumentAndLine) {
  struct Case {
    std::string_view text, error;
  };
  constexpr std::array kCases{
      Case{"apiVersion: v1\nkind: Pod\n---\nkind: Pod\n",
           "f.yaml, document 2, line 4: not a Kubernetes object: apiVersion: required field is missing"},
      Case{"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n- 5\n",
           "f.yaml, document 1, line 6: not a Kubernetes object: expected object, found 5"},
      Case{"a: [\n", "f.yaml: "},
      Case{"a: 1\na: 2\n", "duplicate key \"a\" at line 2, column 1"},
  };
  for (const Case& c : kCases) EXPECT_THAT(Listed(c.text), HasSubstr(c.error)) << c.text;
}

TEST(ReadManifests, HasALimit) {
  const TempDir dir = TempDir::Create("manifests").value();
  const std::string file = dir.path() / "big.yaml";
  ASSERT_TRUE(ReplaceFile(file, "apiVersion: v1\nkind: Pod\n").has_value());
  ASSERT_TRUE(ReadManifests(file, 100).has_value());
  const auto read = ReadManifests(file, 10);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code(), "FileTooLarge");
}

TEST(FromServer, GivesTheObjectsOfAList) {
  const auto list = json::ParseJson(
      R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimList",
          "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]})");
  const auto manifests = FromServer(*list);
  ASSERT_TRUE(manifests.has_value()) << manifests.error().Text();
  ASSERT_EQ(manifests->size(), 2U);
  EXPECT_EQ(manifests->at(1).kind, "ResourceClaim");
  EXPECT_EQ(manifests->at(1).name, "b");
  EXPECT_EQ(ToText(manifests->at(1).origin), "");
}

}  // namespace
}  // namespace tessera::manifests
