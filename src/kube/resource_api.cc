#include <algorithm>
#include <array>

#include "base/text.h"
#include "json/decode.h"
#include "kube/client.h"

namespace tessera::kube {
namespace {

struct GroupVersion {
  std::string version;
};
template <class F>
void Describe(F& f, GroupVersion& v) {
  f.Required("version", v.version);
}
struct Group {
  std::vector<GroupVersion> versions;
};
template <class F>
void Describe(F& f, Group& g) {
  f.Required("versions", g.versions);
}

constexpr std::array<std::string_view, 3> kKnown{"v1", "v1beta2", "v1beta1"};  // The newest first.
constexpr std::string_view kAdvice =
    "Kubernetes serves v1 from 1.34 on; before, set --feature-gates=DynamicResourceAllocation=true and "
    "--runtime-config=resource.k8s.io/v1beta1=true on the API server.";

}  // namespace

Result<std::string> ResourceApi::Version(const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    if (!version_.empty()) return version_;
  }
  const auto answer = client_.Get("/apis/resource.k8s.io", call);
  if (!answer.has_value() && answer.error().code() == "ApiNotFound") {
    return BadConfig("ResourceApiMissing", Format("{} does not serve resource.k8s.io", client_.server()),
                     std::string(kAdvice));
  }
  if (!answer.has_value()) return std::unexpected(answer.error());
  const auto group = json::Decode<Group>(*answer, json::Unknown::kIgnore);
  if (!group.has_value()) return Transient("ApiUnexpected", "GET /apis/resource.k8s.io: " + group.error().message());
  std::vector<std::string> offered;
  for (const GroupVersion& version : group->versions) offered.push_back(version.version);
  for (const std::string_view known : kKnown) {
    if (std::ranges::find(offered, known) == offered.end()) continue;
    const std::lock_guard lock(mutex_);
    version_ = known;
    return version_;
  }
  return BadConfig("ResourceApiMissing",
                   Format("{} serves resource.k8s.io only as {}; v1, v1beta2 or v1beta1 is needed", client_.server(),
                          offered.empty() ? "nothing" : Join(offered, ", ")),
                   std::string(kAdvice));
}

Result<std::string> ResourceApi::Path(std::string_view rest, const Call& call) {
  TESSERA_ASSIGN(const std::string version, Version(call));
  return Format("/apis/resource.k8s.io/{}/{}", version, rest.starts_with('/') ? rest.substr(1) : rest);
}

void ResourceApi::Forget() {
  const std::lock_guard lock(mutex_);
  version_.clear();
}

}  // namespace tessera::kube
