// manifests/manifest.h: Kubernetes objects as they stand in files: YAML or JSON, many documents, lists as `kubectl get
// -o yaml` prints them. What they mean is in objects.h. Start here.
//
//   TESSERA_ASSIGN(const auto manifests, manifests::ReadManifests("claims.yaml"));
//   manifests::Objects objects;
//   for (const manifests::Manifest& manifest : manifests) TESSERA_TRY(objects.Add(manifest));
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/value.h"

namespace tessera::manifests {

// 5,000 devices as `kubectl get resourceslices -o yaml` prints them are about 10 MB.
inline constexpr std::size_t kMaxManifestBytes = std::size_t{64} << 20;

struct Origin {
  std::string file;          // "standard input" for "-". Empty: the API server.
  std::size_t document = 0;  // From 1.
  std::size_t line = 0;      // Where the object begins, from 1.
};

// "claims.yaml, document 2, line 14"; empty for the API server.
std::string ToText(const Origin& origin);

// One object; a List is taken apart.
struct Manifest {
  Origin origin;
  std::string api_version, kind;
  std::string namespace_name;  // Empty when it says none.
  std::string name;            // Or its generateName.
  json::Value value;
  json::Mark mark;  // Empty for the API server.

  // The origin with the line of a field, "spec.devices.requests[0]".
  Origin At(std::string_view path) const;
};

// A file, or standard input for "-". An error says file, document and line.
Result<std::vector<Manifest>> ReadManifests(const std::string& file, std::size_t limit = kMaxManifestBytes);

// The same from text; `file` is for messages.
Result<std::vector<Manifest>> ParseManifests(std::string_view text, const std::string& file);

// An object, or a list of them, that the API server sent.
Result<std::vector<Manifest>> FromServer(json::Value value);

}  // namespace tessera::manifests
