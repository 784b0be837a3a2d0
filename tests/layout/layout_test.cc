// The ladder of ARCHITECTURE.md: a module includes only modules on lower rungs, and only those its DEPS name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "tests/support/paths.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What tests of modules may use of tests/.
const std::set<std::string> kOfTests{"tests/support/golden.h", "tests/support/paths.h"};

const std::map<std::string, int> kRungs{{"base", 0},                                                       //
                                        {"json", 1},                                                       //
                                        {"net", 2},       {"cel", 2},     {"nvml", 2},    {"metrics", 2},  //
                                        {"api", 3},                                                        //
                                        {"kube", 4},      {"kubelet", 4}, {"cdi", 4},     {"journal", 4},
                                        {"manifests", 4},                                  //
                                        {"device", 5},                                     //
                                        {"health", 6},    {"alloc", 6},   {"webhook", 6},  //
                                        {"driver", 7},                                     //
                                        {"inspect", 8},   {"local", 8},                    //
                                        {"cmd", 9}};

const std::set<std::string> kThirdParty{"boost", "cli11", "fmt", "grpc", "openssl", "options", "yaml"};

// What `text` includes of ours: #include "module/file.h", or with angle brackets when it names a module.
std::set<std::string> IncludesOf(std::string_view text) {
  std::set<std::string> modules;
  for (const std::string_view line : Split(text, '\n')) {
    const auto quoted = line.starts_with("#include \"") ? Cut(line.substr(10), "\"") : std::nullopt;
    const auto angled = line.starts_with("#include <") ? Cut(line.substr(10), ">") : std::nullopt;
    if (quoted) modules.emplace(quoted->first);
    const auto folder = angled ? Cut(angled->first, "/") : std::nullopt;
    if (folder && kRungs.contains(std::string(folder->first))) modules.emplace(angled->first);
  }
  return modules;
}

// The names after DEPS in a CMakeLists.txt: "tessera::base" is base.
std::set<std::string> DepsOf(std::string_view text) {
  std::set<std::string> deps;
  bool inside = false;
  std::string words(text);
  std::ranges::replace_if(words, [](char c) { return c == '\n' || c == ')' || c == '('; }, ' ');
  for (const std::string_view word : Split(words, ' ')) {
    if (word.empty()) continue;
    if (word == "DEPS" || word == "TEST_DEPS") {
      inside = true;
    } else if (word == "TESTS" || word == "LIBS" || word == "SOURCES") {
      inside = false;
    } else if (inside && word.starts_with("tessera::")) {
      const std::string module(word.substr(9));
      if (!kThirdParty.contains(module)) deps.insert(module);
    }
  }
  return deps;
}

class Layout {
 public:
  explicit Layout(const fs::path& root) : root_(root) {
    for (const auto& entry : fs::directory_iterator(root / "src")) {
      if (entry.is_directory()) CheckModule(entry.path());
    }
    if (fs::exists(root / "sim")) CheckSim();
    std::ranges::sort(faults_);
  }
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  void CheckModule(const fs::path& folder) {
    const std::string module = folder.filename().string();
    if (!kRungs.contains(module)) return faults_.push_back(module + ": is on no rung of the ladder");
    const auto cmake = ReadFile(folder / "CMakeLists.txt");
    const std::set<std::string> deps = cmake.has_value() ? DepsOf(*cmake) : std::set<std::string>{};
    for (const std::string& dep : deps) {
      if (kRungs.contains(dep)) {
        CheckStep(module, dep, module + "/CMakeLists.txt");
      } else {
        faults_.push_back(Format("{}/CMakeLists.txt: DEPS names tessera::{}, which is no module", module, dep));
      }
    }
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension();
      if (extension == ".h" || extension == ".cc") CheckFile(entry.path(), module, deps);
    }
  }

  void CheckFile(const fs::path& file, const std::string& module, const std::set<std::string>& deps) {
    const std::string name = file.lexically_relative(root_).string();
    for (const std::string& include : IncludesOf(ReadFile(file).value())) {
      const std::string other(Cut(include, "/").value_or(std::pair<std::string_view, std::string_view>()).first);
      if (other == module) continue;
      if (kOfTests.contains(include) && name.ends_with("_test.cc")) continue;
      if (!kRungs.contains(other)) {
        faults_.push_back(Format("{}: includes \"{}\", which is no module", name, include));
        continue;
      }
      CheckStep(module, other, name);
      if (!deps.contains(other)) faults_.push_back(Format("{}: includes {}/, which is not in DEPS", name, other));
    }
  }

  void CheckStep(const std::string& from, const std::string& to, const std::string& where) {
    if (from != to && kRungs.at(to) >= kRungs.at(from)) {
      faults_.push_back(
          Format("{}: {} (rung {}) must not use {} (rung {})", where, from, kRungs.at(from), to, kRungs.at(to)));
    }
  }

  // The simulator stands beside the product: it may use base/, json/ and NVML's layouts, and nothing uses it.
  void CheckSim() {
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "sim")) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      for (const std::string& include : IncludesOf(ReadFile(entry.path()).value())) {
        if (include.starts_with("sim/") || include.starts_with("base/") || include.starts_with("json/")) continue;
        if (include == "nvml/abi.h" || include.starts_with("tests/support/")) continue;
        faults_.push_back(Format("{}: includes \"{}\"", entry.path().lexically_relative(root_).string(), include));
      }
    }
  }

  const fs::path root_;
  std::vector<std::string> faults_;
};

TEST(Layout, FollowsTheLadder) { EXPECT_THAT(Layout(TESSERA_SOURCE_DIR).faults(), IsEmpty()); }

class BadLayout : public ::testing::Test {
 protected:
  void Put(const fs::path& relative, std::string_view content) {
    fs::create_directories((dir_.path() / relative).parent_path());
    ASSERT_TRUE(ReplaceFile(dir_.path() / relative, content).has_value());
  }
  TempDir dir_ = TempDir::Create("layout-test").value();
};

TEST_F(BadLayout, AnIncludeUpwardsIsFound) {
  Put("src/api/CMakeLists.txt", "tessera_module(api SOURCES a.cc DEPS tessera::base)");
  Put("src/api/a.cc", "#include \"base/error.h\"\n#include \"driver/prepare.h\"\n");
  EXPECT_THAT(Layout(dir_.path()).faults(), ElementsAre(HasSubstr("api (rung 3) must not use driver (rung 7)"),
                                                        HasSubstr("driver/, which is not in DEPS")));
}

TEST_F(BadLayout, ASidewaysDependencyIsFound) {
  Put("src/cdi/CMakeLists.txt",
      "tessera_module(cdi\n  SOURCES a.cc\n  DEPS tessera::base\n       tessera::kube\n TESTS x.cc)");
  Put("src/cdi/a.cc", "#include <kube/client.h>\n");
  Put("src/api/CMakeLists.txt", "tessera_module(api SOURCES a.cc DEPS tessera::base tessera::sim)");
  EXPECT_THAT(Layout(dir_.path()).faults(),
              ElementsAre(HasSubstr("DEPS names tessera::sim"), HasSubstr("cdi (rung 4) must not use kube (rung 4)"),
                          HasSubstr("src/cdi/a.cc: cdi (rung 4) must not use kube")));
}

TEST_F(BadLayout, AnUndeclaredIncludeAndAnUnknownModuleAreFound) {
  Put("src/api/CMakeLists.txt", "tessera_module(api SOURCES a.cc DEPS tessera::base)");
  Put("src/api/a.h", "#include \"json/value.h\"\n");
  Put("src/misc/a.h", "");
  EXPECT_THAT(Layout(dir_.path()).faults(),
              ElementsAre("misc: is on no rung of the ladder", HasSubstr("json/, which is not in DEPS")));
}

TEST_F(BadLayout, TheSimulatorStaysOutside) {
  Put("src/base/a.cc", "#include \"sim/machine.h\"\n");
  Put("sim/a.cc", "#include \"nvml/abi.h\"\n#include \"device/snapshot.h\"\n");
  EXPECT_THAT(Layout(dir_.path()).faults(),
              ElementsAre(HasSubstr("sim/a.cc: includes \"device/snapshot.h\""), HasSubstr("which is no module")));
}

}  // namespace
}  // namespace tessera
