// cel/device_selector.h: does a device match an expression? Start here.
//
//   TESSERA_ASSIGN(const auto selector, cel::Compile("device.attributes['gpu.nvidia.com'].productName == 'X'", {}));
//   TESSERA_ASSIGN(const bool match, selector.Matches(facts));
//
// The language is CEL as Kubernetes has it for device selectors; environment.h says which release's. Answers, errors
// and costs are those that its users see.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cel/device_facts.h"
#include "cel/environment.h"
#include "cel/references.h"

namespace tessera::cel {

struct Outcome;

// A compiled expression. Immutable, cheap to copy, safe from any thread.
class DeviceSelector {
 public:
  // CelRuntimeError says what went wrong on this device, in Kubernetes' words; its advice has a near name when the
  // device has no such attribute, and points into the expression (line, column, caret) as compile errors do.
  // CelCostExceeded: it took too long. Either is fatal for a pod in Kubernetes.
  Result<bool> Matches(const DeviceFacts& device) const;

  // The same, with what it cost in Kubernetes' units.
  struct Evaluation {
    Result<bool> match;
    std::uint64_t cost = 0;
  };
  Evaluation Evaluate(const DeviceFacts& device) const;

  std::string_view expression() const;

  // What an evaluation of a new expression may cost at worst; UINT64_MAX when there is no bound, and for stored
  // expressions, which Kubernetes does not estimate.
  std::uint64_t CostEstimate() const;

  // The attributes and capacities it names, in the order of the text.
  std::span<const Reference> References() const;

 private:
  struct Compiled;
  friend Result<DeviceSelector> Compile(std::string_view expression, const Environment& environment);

  std::unexpected<Error> Failure(const Outcome& outcome, const DeviceFacts& device) const;
  std::string NextStep(std::uint32_t offset, const DeviceFacts& device) const;

  explicit DeviceSelector(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

// CelCompileError points into the expression (line, column, caret) and has a near name as advice when there is one;
// CelTooLong and CelTooComplex are the API's limits.
Result<DeviceSelector> Compile(std::string_view expression, const Environment& environment);

}  // namespace tessera::cel
