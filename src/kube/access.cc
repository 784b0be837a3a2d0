#include "kube/access.h"

#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "kube/token_source.h"

namespace tessera::kube {
namespace {

constexpr std::string_view kAccount = "var/run/secrets/kubernetes.io/serviceaccount";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<Access> InCluster(const std::filesystem::path& root) {
  constexpr std::string_view kAdvice = "Give --kubeconfig outside of a pod.";
  const std::string host = Environment("KUBERNETES_SERVICE_HOST");
  const std::string port_text = Environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port_text.empty()) {
    return BadConfig("NotInCluster", "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
                     std::string(kAdvice));
  }
  const auto port = ParseNumber<std::uint16_t>(port_text);
  if (!port) return BadConfig("NotInCluster", Format("KUBERNETES_SERVICE_PORT {} is no port", Quote(port_text)));
  const std::filesystem::path account = root / kAccount;
  auto ca = ReadFile(account / "ca.crt");
  if (!ca.has_value()) {
    return BadConfig("NotInCluster", ca.error().message(), "Mount a service account token into the pod.");
  }
  auto tokens = std::make_shared<TokenFile>(account / "token");
  if (const auto token = tokens->Token(); !token.has_value()) {
    return BadConfig("NotInCluster", token.error().message(), "Mount a service account token into the pod.");
  }
  return Access{.endpoint = {host, *port, true},
                .tls = {.ca_pem = *std::move(ca)},
                .tokens = std::move(tokens),
                .describe = Format("https://{}:{} (in-cluster)", host.contains(':') ? "[" + host + "]" : host, *port)};
}

Result<Access> FindAccess(const std::filesystem::path& kubeconfig, ExecPlugins exec) {
  if (kubeconfig.empty()) return InCluster();
  return FromKubeconfig({.path = kubeconfig, .exec = exec});
}

}  // namespace tessera::kube
