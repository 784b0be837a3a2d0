// lint/rules.h: what the API demands of an object beyond the shape of its fields, kind by kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lint/context.h"
#include "lint/node.h"

namespace tessera::lint {

void CheckMetadata(Context& context);
// Of the object, or those that a template gives to its claims.
void CheckLabels(Context& context, const Node& metadata);

// spec of a claim, or spec.spec of a template.
void CheckClaimSpec(Context& context, const Node& spec);
void CheckClass(Context& context);
void CheckTaintRule(Context& context);
// Of a taint of devices. Required: it may not be empty, as a toleration's may.
void CheckTaintEffect(Context& context, const Node& effect, bool required);
// Of a pod or a workload's template; `replicated`: more than one pod may be made of it.
void CheckPodSpec(Context& context, const Node& spec, bool replicated);

// A request that names a class: `exactly`, a v1beta1 request, or one of firstAvailable.
struct AskedRequest {
  std::string name;  // "gpu" or "gpu/best"
  Node node;
};
std::vector<AskedRequest> RequestsOf(const Node& spec, bool is_v1beta1);
void CheckRequests(Context& context, const Node& requests);

// `list` is a `config` field; `asked` is empty for a class.
void CheckConfigs(Context& context, const Node& list, const std::vector<AskedRequest>& asked);

// The entries of a `requests` field of a constraint or config name requests of the claim, each once.
void CheckReferences(Context& context, const Node& list, const std::vector<AskedRequest>& asked);

}  // namespace tessera::lint
