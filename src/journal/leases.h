// journal/leases.h: who may touch a claim or a GPU right now, over all processes of the node.
//
// A lease is a lock on one byte of one file, at a place that follows from its name (open-file-description locks of
// fcntl(2)). The kernel releases it when its holder dies, and nothing is left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera::journal {

// Held until destroyed.
class Lease {
 public:
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  // A process that inherits this descriptor keeps the lease when this one dies, until all who have it are gone. Destroying
  // the lease ends it for all. -1: it holds within this process alone.
  int descriptor() const;

 private:
  friend class Leases;
  struct Held;
  explicit Lease(std::unique_ptr<Held> held);
  std::unique_ptr<Held> held_;
};

// Safe to call from any thread. Within one process waiting is in order of arrival. On a disk that is full or read-only a
// lease may hold within this process alone.
class Leases {
 public:
  // The file is made when first needed. One that several users share is writable for all of them.
  explicit Leases(std::filesystem::path file, mode_t mode = 0600);
  ~Leases();

  // All of `names`, taken in a fixed order so that two callers never wait for each other in a circle. Gives up at
  // `deadline` with the transient error "LeaseTimeout", which names the lease.
  Result<Lease> Acquire(std::vector<std::string> names, std::chrono::steady_clock::time_point deadline);

  // Nothing when somebody else has it.
  Result<std::optional<Lease>> TryAcquire(const std::string& name);

  // Whether some other process or thread has it now.
  Result<bool> IsHeld(const std::string& name);

 private:
  friend class Lease;
  class Table;
  std::shared_ptr<Table> table_;  // Leases may outlive this object.
};

}  // namespace tessera::journal
