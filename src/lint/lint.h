// lint/lint.h: claims, templates, classes, slices, pods and workloads, checked without a cluster. Start here.
//
//   TESSERA_ASSIGN(const auto objects, manifests::ReadManifests("claim.yaml"));
//   const lint::Report report = lint::Lint(objects, {.release = cel::Release::k1_36});
//   std::string text = lint::ToText(report);
//
// schema.h knows the fields, rules.h what must hold between them, selector_rules.h the CEL, correction.h what was
// probably meant.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "lint/finding.h"
#include "lint/options.h"
#include "manifests/manifest.h"

namespace tessera::lint {

Report Lint(std::span<const manifests::Manifest> objects, const Options& options);

// What cannot be read, as a finding: a file, or one document of it.
Finding Unreadable(manifests::Origin origin, const Error& error);

bool HasErrors(const Report& report);

// For a person, each finding with its line to paste, and a summary; and for a program.
std::string ToText(const Report& report);
std::string ToJson(const Report& report);

}  // namespace tessera::lint
