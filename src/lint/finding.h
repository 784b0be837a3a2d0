// lint/finding.h: one thing that is wrong, or may be, with an object in a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifests/manifest.h"

namespace tessera::lint {

enum class Severity : std::uint8_t {
  kError,    // The API server refuses it, or no device can ever be had this way.
  kWarning,  // It is taken, and probably not what was meant.
  kNote,     // Worth knowing; nothing need change.
};

struct Finding {
  Severity severity = Severity::kError;
  std::string_view code;  // A literal in PascalCase; docs/lint.md lists them.
  manifests::Origin origin;
  std::string kind, namespace_name, name;  // Of the object; empty when there is none.
  std::string path;                        // "spec.devices.requests[0].exactly.count"; empty: the object.
  std::string message;
  std::string advice;  // May be empty.
  std::string fix;     // The corrected line to paste; may be empty.
};

struct Report {
  std::vector<Finding> findings;  // In the order of files, documents and lines.
  std::size_t checked = 0;        // Objects.
  std::size_t passed_over = 0;    // Objects of kinds that have nothing to do with devices.
};

}  // namespace tessera::lint
