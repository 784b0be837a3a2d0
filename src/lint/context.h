// lint/context.h: what a rule knows, and where it says what it found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lint/catalogue.h"
#include "lint/finding.h"
#include "lint/node.h"
#include "lint/options.h"

namespace tessera::lint {

// What to do about a finding; both may be empty.
struct Remedy {
  std::string advice = {};
  std::string fix = {};
};

// About one object.
class Context {
 public:
  Context(const Options& against, const Catalogue& files, const manifests::Manifest& checked,
          std::vector<Finding>& findings)
      : options(against), catalogue(files), object(checked), findings_(findings) {}

  void Error(const Node& at, std::string_view code, std::string message, Remedy remedy = {});
  void Warn(const Node& at, std::string_view code, std::string message, Remedy remedy = {});
  void Note(const Node& at, std::string_view code, std::string message, Remedy remedy = {});

  Node root() const { return {&object.value, ""}; }
  bool IsV1Beta1() const { return object.api_version == "resource.k8s.io/v1beta1"; }

  const Options& options;
  const Catalogue& catalogue;
  const manifests::Manifest& object;

 private:
  void Add(Severity severity, const Node& at, std::string_view code, std::string message, Remedy remedy);

  std::vector<Finding>& findings_;
};

}  // namespace tessera::lint
