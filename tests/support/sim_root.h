// tests/support/sim_root.h: a simulated machine for one test.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "sim/store.h"

namespace tessera::tests {

// A driver root with simulated GPUs in a temporary directory, and its state at hand. Aborts the test on failure.
class SimRoot {
 public:
  // `change` may alter the machine before it is built.
  explicit SimRoot(const std::string& profile, const std::function<void(sim::Machine&)>& change = {});

  const std::filesystem::path& path() const { return dir_.path(); }
  std::filesystem::path sysfs() const { return path() / "sys"; }
  sim::Store& store() { return *store_; }
  void Update(const std::function<void(sim::Machine&)>& change);

 private:
  TempDir dir_;
  std::unique_ptr<sim::Store> store_;
};

// Takes one function out of the root's library, as if its driver were older.
Result<void> HideFunction(const std::filesystem::path& root, const std::string& function);

// The names of all profiles that come with the project.
std::vector<std::string> ProfileNames();

}  // namespace tessera::tests
