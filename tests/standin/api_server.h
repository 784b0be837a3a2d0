// tests/standin/api_server.h: a double of the Kubernetes API server. Start here.
//
// Real TLS on 127.0.0.1, HTTP/1.1 with keep-alive, a thread for each connection, objects of any kind. What it does as
// the real one does, and what it leaves out, is said in api.h; how it can be made to fail, in faults.h.
//
//   auto server = standin::ApiServer::Start().value();
//   server->WriteKubeconfig(dir / "kubeconfig").value();
//   const json::Value claim = server->MakeClaim({.name = "a", .devices = {{.pool = "node-a", .device = "gpu-0"}}});
//   server->faults().Add({.method = "GET", .path = "/resourceclaims/", .kind = Fault::Kind::kHang});
//   server->seen().Wait(SeenLog::Is("POST", "/events"), 10s);
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/value.h"
#include "tests/standin/api.h"
#include "tests/standin/claims.h"
#include "tests/standin/faults.h"
#include "tests/standin/seen.h"
#include "tests/standin/tls.h"

namespace tessera::standin {

class ApiServer {
 public:
  struct Options {
    std::vector<std::string> versions{"v1"};                                 // Of resource.k8s.io, the preferred first.
    std::string token = "standin-token";                                     // Empty: everybody may do everything.
    ClientCertificates client_certificates = ClientCertificates::kOptional;  // A verified one needs no token.
    std::size_t history = 1000;                                              // Events that a watch can go back to.
    std::chrono::milliseconds bookmark_interval{60'000};                     // Also sent at the end of a watch.
    std::size_t max_seen = 10'000;
    std::uint16_t port = 0;
  };
  static Result<std::unique_ptr<ApiServer>> Start(Options options);
  static Result<std::unique_ptr<ApiServer>> Start() { return Start(Options()); }
  ~ApiServer();  // Ends and joins everything.

  std::uint16_t port() const;
  std::string url() const;  // "https://127.0.0.1:43211"
  const std::string& ca_pem() const;
  Result<Identity> IssueClient(std::string_view common_name) const;

  // Server, CA and a token. The file is replaced by rename.
  Result<void> WriteKubeconfig(const std::filesystem::path& path) const;
  // What a pod finds below `root`: var/run/secrets/kubernetes.io/serviceaccount with token, ca.crt and namespace.
  Result<void> WriteServiceAccount(const std::filesystem::path& root) const;

  // ---- Objects, as an administrator: no credentials, no faults, not recorded, status included. Paths are those of the
  // API, at any version: "/apis/resource.k8s.io/v1/resourceslices", "/api/v1/nodes/a".
  Result<json::Value> Get(std::string_view path);
  Result<json::Value> Create(std::string_view collection, const json::Value& object);
  Result<json::Value> Update(std::string_view path, const json::Value& object);
  Result<json::Value> Patch(std::string_view path, const json::Value& merge_patch);
  Result<void> Delete(std::string_view path);
  std::vector<json::Value> List(std::string_view collection);  // Whole objects; those of resource.k8s.io as in v1.
  Result<void> DeleteCollection(std::string_view collection, std::string_view field_selector);  // The kubelet's wipe.

  // Whether the collection comes to satisfy `holds` in time. `holds` must not call the server.
  bool WaitObjects(std::string_view collection, const std::function<bool(const std::vector<json::Value>& items)>& holds,
                   std::chrono::milliseconds timeout);

  // These abort the test when the object exists.
  json::Value MakeClaim(const ClaimOptions& options);
  json::Value MakeNode(const std::string& name);

  // ---- Behaviour, at any time.
  Faults& faults();
  SeenLog& seen();
  void SetToken(std::string token);                    // The only one accepted from now on.
  void AcceptTokens(std::vector<std::string> tokens);  // Any of these; WriteKubeconfig() takes the first.
  void SetVersions(std::vector<std::string> versions);
  void SetWriteHook(WriteHook hook);
  void SetRelease(std::string version, std::map<std::string, bool> gates);  // See api.h. v1.36.4 at first.
  void SetHistory(std::size_t events);
  void ForgetHistory();     // Every watch, running ones included, is told 410.
  void EndWatches();        // As on timeout: each ends properly.
  void CloseConnections();  // All, in the middle of whatever they do.
  // The server is away: connections are refused. Objects, certificates and the port stay.
  void Pause();
  Result<void> Resume();

  std::uint64_t version() const;  // The newest resourceVersion.

 private:
  class Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::standin
