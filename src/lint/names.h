// lint/names.h: which texts the API takes as which kind of name (k8s.io/apimachinery/pkg/util/validation and
// pkg/apis/resource/validation).
#pragma once

#include <string_view>

namespace tessera::lint {

bool IsDnsLabel(std::string_view text);    // Requests, claims of a pod: no dots, at most 63 bytes.
bool IsPoolName(std::string_view text);    // DNS subdomains joined by slashes, at most 253 bytes.
bool IsDriverName(std::string_view text);  // A DNS subdomain of at most 63 bytes; upper case is taken.
bool IsFullyQualifiedName(
    std::string_view text);                   // domain/id, of attributes: the id is a C identifier of at most 32 bytes.
bool IsQualifiedName(std::string_view text);  // id or domain/id
bool IsLabelKey(std::string_view text);       // [domain/]name
bool IsLabelValue(std::string_view text);     // At most 63 bytes; may be empty.
bool IsExtendedResource(std::string_view text);  // domain/name, with a domain that is not Kubernetes' own.

}  // namespace tessera::lint
