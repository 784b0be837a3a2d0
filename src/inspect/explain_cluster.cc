#include "inspect/explain_cluster.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "json/decode.h"

namespace tessera::inspect {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};  // For everything together.
constexpr std::chrono::seconds kQuiet{10};
constexpr std::size_t kPage = 100;
constexpr std::size_t kSlicePage = 10;  // A slice may have 1.1 MB, and an answer 16.
constexpr std::size_t kMaxObjects = 50'000;

struct ListMetadata {
  std::string next;
};
template <class F>
void Describe(F& f, ListMetadata& m) {
  f.Optional("continue", m.next);
}
struct ListHeader {
  ListMetadata metadata;
};
template <class F>
void Describe(F& f, ListHeader& h) {
  f.Optional("metadata", h.metadata);
}
struct VersionInfo {
  std::string version;
};
template <class F>
void Describe(F& f, VersionInfo& v) {
  f.Required("gitVersion", v.version);
}

class ClusterReader {
 public:
  ClusterReader(kube::Client& client, const Target& target) : client_(client), api_(client), target_(target) {}

  Result<ClusterState> Read() {
    state_.facts.server = client_.server();
    TESSERA_ASSIGN(const json::Value version, client_.Get("/version", call_));
    TESSERA_ASSIGN(const VersionInfo info, json::Decode<VersionInfo>(version, json::Unknown::kIgnore));
    state_.facts.version = info.version;
    ReadGates();
    TESSERA_ASSIGN(const std::string base, api_.Path("", call_));
    List(base + "resourceslices", "ResourceSlices");
    List(base + "deviceclasses", "DeviceClasses");
    ListClaims(base);
    ListTaintRules();
    List("/api/v1/nodes", "Nodes");
    ReadTarget(base);
    return std::move(state_);
  }

 private:
  void Gap(std::string_view what, const Error& error) {
    state_.facts.gaps.push_back(Format("{}: {}", what, error.message()));
  }

  Result<void> Keep(json::Value value) {
    TESSERA_ASSIGN(const auto manifests, manifests::FromServer(std::move(value)));
    for (const manifests::Manifest& manifest : manifests) TESSERA_TRY(state_.objects.Add(manifest));
    read_ += manifests.size();
    return {};
  }

  Result<void> ReadPages(const std::string& path, std::size_t page_size = kPage) {
    std::string next;
    read_ = 0;
    do {
      const char separator = path.contains('?') ? '&' : '?';
      std::string page = Format("{}{}limit={}", path, separator, page_size);
      if (!next.empty()) page += Format("&continue={}", kube::Escape(next));
      TESSERA_ASSIGN(json::Value value, client_.Get(page, call_));
      TESSERA_ASSIGN(const ListHeader header, json::Decode<ListHeader>(value, json::Unknown::kIgnore));
      next = header.metadata.next;
      TESSERA_TRY(Keep(std::move(value)));
      if (read_ > kMaxObjects) return Transient("TooManyObjects", Format("only the first {} were read", read_));
    } while (!next.empty());
    return {};
  }

  void List(const std::string& path, std::string_view what) {
    const auto read = ReadPages(path, what == "ResourceSlices" ? kSlicePage : kPage);
    if (!read.has_value()) Gap(what, read.error());
  }

  // Of v1 since 1.37, of other versions before; there they are off unless somebody has switched them on.
  void ListTaintRules() {
    for (const std::string_view version : {"v1", "v1beta2", "v1alpha3"}) {
      const auto read = ReadPages(Format("/apis/resource.k8s.io/{}/devicetaintrules", version));
      if (read.has_value()) return;
      if (read.error().code() != "ApiNotFound") return Gap("DeviceTaintRules", read.error());
    }
  }

  // Of all namespaces, because any claim may hold a device; at least those of the target's.
  void ListClaims(const std::string& base) {
    const auto all = ReadPages(base + "resourceclaims");
    if (all.has_value()) return;
    Gap("ResourceClaims of other namespaces", all.error());
    List(Format("{}namespaces/{}/resourceclaims", base, target_.namespace_name), "ResourceClaims");
  }

  void GetOne(const std::string& path, std::string_view what) {
    auto value = client_.Get(path, call_);
    if (!value.has_value() && value.error().code() == "ApiNotFound") return;
    if (!value.has_value()) return Gap(what, value.error());
    if (const auto kept = Keep(*std::move(value)); !kept.has_value()) Gap(what, kept.error());
  }

  void ListEvents(std::string_view kind, std::string_view name) {
    const std::string selector = Format("involvedObject.kind={},involvedObject.name={}", kind, name);
    List(Format("/api/v1/namespaces/{}/events?fieldSelector={}", target_.namespace_name, kube::Escape(selector)),
         "Events");
  }

  void ReadTarget(const std::string& base) {
    if (target_.kind == Target::Kind::kClaim) return ListEvents("ResourceClaim", target_.name);
    GetOne(Format("/api/v1/namespaces/{}/pods/{}", target_.namespace_name, kube::Escape(target_.name)), "Pod");
    if (state_.objects.pods.empty()) return;
    ListEvents("Pod", target_.name);
    const manifests::Pod pod = state_.objects.pods.front();
    for (const manifests::PodClaim& claim : pod.spec.claims) {
      const auto made = pod.made_claims.find(claim.name);
      if (claim.template_name) {
        GetOne(Format("{}namespaces/{}/resourceclaimtemplates/{}", base, target_.namespace_name,
                      kube::Escape(*claim.template_name)),
               "ResourceClaimTemplate");
      }
      const auto name = claim.claim_name                ? claim.claim_name
                        : made != pod.made_claims.end() ? made->second
                                                        : std::optional<std::string>();
      if (name) ListEvents("ResourceClaim", *name);
    }
  }

  // The API server's own. The scheduler's are not to be seen from outside; usually they are the same.
  void ReadGates() {
    std::map<std::string, bool> gates;
    const auto read = client_.Stream("/metrics", kQuiet, {}, [&](std::string_view line) {
      const auto gate = GateOf(line);
      if (gate) gates.insert(*gate);
      const bool done = !gate && !gates.empty();  // They follow each other.
      return !done && steady_clock::now() < call_.deadline;
    });
    if (!read.has_value()) {
      state_.facts.gates_unknown = Format("the API server's /metrics: {}", read.error().code());
    } else if (gates.empty()) {
      state_.facts.gates_unknown = "the API server's /metrics does not say";
    } else {
      state_.facts.gates = std::move(gates);
    }
  }

  kube::Client& client_;
  kube::ResourceApi api_;
  const Target& target_;
  const kube::Call call_{.deadline = steady_clock::now() + kPatience, .lane = kube::Lane::kUrgent};
  ClusterState state_;
  std::size_t read_ = 0;  // Of the list that is being read.
};

}  // namespace

Result<ClusterState> ReadCluster(kube::Client& client, const Target& target) {
  return ClusterReader(client, target).Read();
}

}  // namespace tessera::inspect
