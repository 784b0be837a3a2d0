// cel/library.h: the functions by library. environment.cc says which of them a release of Kubernetes has.
#pragma once

#include <cstddef>
#include <span>

#include "cel/function.h"

namespace tessera::cel {

std::span<const OverloadSpec> StandardOperators();
std::span<const OverloadSpec> StandardFunctions();  // Conversions, size(), text.
std::span<const OverloadSpec> PrefixesUntil136();   // startsWith, endsWith: cost by the whole text
std::span<const OverloadSpec> Prefixes();           // the same, by the part looked for
std::span<const OverloadSpec> TimeFunctions();
std::span<const OverloadSpec> OptionalFunctions();
std::span<const OverloadSpec> StringFunctions();  // cel-go's strings, version 2
std::span<const OverloadSpec> RegexFunctions();   // find, findAll
std::span<const OverloadSpec> ListFunctions();    // Kubernetes' lists: sum, min, indexOf …
std::span<const OverloadSpec> ListExtension();    // cel-go's lists, version 3: slice, sort, flatten …
inline constexpr std::size_t kMaxIncludes = 48;   // Values of the longest list that IncludesUpTo48() takes.
std::span<const OverloadSpec> IncludesUpTo48();   // Kubernetes 1.36
std::span<const OverloadSpec> Includes();         // Kubernetes 1.37
std::span<const OverloadSpec> SetFunctions();
std::span<const OverloadSpec> QuantityFunctions();
std::span<const OverloadSpec> SemverFunctions();
std::span<const OverloadSpec> NetworkFunctions();  // ip, cidr
std::span<const OverloadSpec> UrlFunctions();
std::span<const OverloadSpec> FormatFunctions();

}  // namespace tessera::cel
