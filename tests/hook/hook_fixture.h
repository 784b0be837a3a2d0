// tests/hook/hook_fixture.h: the hook program, run on a container root in a temporary directory.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace tessera::tests {

struct Outcome {
  int code = -1;
  std::string out, err;
};

// The parameter: whether the kernel has openat2. Without it (a filter says ENOSYS) the hook walks paths by itself, and
// every promise must hold as well.
//
// Each test ends with a look at everything beside the root: it must be as it was before. Where mount namespaces are
// permitted the rest of the machine is read-only for the hook, so that a broken one harms nobody.
class HookTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override;
  void TearDown() override;

  const std::filesystem::path& root() const { return root_; }
  const std::filesystem::path& outside() const { return outside_; }  // A folder of the host with precious files.
  const std::filesystem::path& bundle() const { return bundle_; }

  // In the root. Parents are made.
  void Put(const std::string& path, std::string_view content);
  void Link(const std::string& path, const std::string& target);
  bool MakeDevice(const std::string& path, unsigned major, unsigned minor);  // False where that is not permitted.
  std::string Read(const std::string& path) const;                           // "" when there is none.
  std::vector<std::string> Names(const std::string& directory) const;        // Sorted.
  std::string Tree() const;                                                  // All of the root, one line an entry.

  Outcome Run(const std::vector<std::string>& arguments);
  Outcome RunWith(const std::vector<std::string>& arguments, const std::string& state,
                  const std::vector<std::string>& environment = {});

  // As an OCI runtime does: in a mount namespace of its own where the root is a mount point. `before` and `after` run
  // inside it.
  Outcome RunMounted(const std::vector<std::string>& arguments, const std::function<void()>& before = {},
                     const std::function<void()>& after = {});
  static bool CanMount();
  // The kernel's answer to a system call, for this thread and what it starts.
  static void RefuseCall(unsigned number, unsigned error);
  void MakeReadOnly();  // The root's mount, not its file system. Inside RunMounted() only.

 private:
  std::string State() const;

  TempDir dir_ = TempDir::Create("hook-test").value();
  TempDir output_ = TempDir::Create("hook-test").value();  // Of the hook itself.
  std::filesystem::path root_ = dir_.path() / "root";
  std::filesystem::path outside_ = dir_.path() / "outside";
  std::filesystem::path bundle_ = dir_.path() / "bundle";
  std::string before_;
};

#define TESSERA_NEEDS_MOUNTS() \
  if (!CanMount()) GTEST_SKIP() << "mount namespaces are not permitted here (CAP_SYS_ADMIN)"

}  // namespace tessera::tests
