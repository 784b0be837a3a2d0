// tessera-standin: the stand-ins as a program, for the demo and for trying things by hand.
//
//   tessera-standin api --dir DIR [--node-name NAME] [--claims FILE]
//   tessera-standin node --dir DIR [--node-name NAME]
//   tessera-standin bundle --dir DIR --cdi-dir DIR --device ID [--device ID …] -- COMMAND …
//
// "api" serves the API server double and writes DIR/kubeconfig; "node" adds a kubelet, and folders for a plugin. Both
// say "ready https://127.0.0.1:PORT" and answer each line of standard input with one line. They end on SIGTERM or
// SIGINT, not when standard input does. "bundle" writes DIR/config.json for an OCI runtime.
//
// An administrator's lines: GET /api/v1/nodes, DELETE /api/v1/nodes/a, POST /api/v1/nodes {"metadata":{"name":"b"}}.
// Those of "node" as well:
//   flags DRIVER_ROOT            the plugin's flags for this node
//   wait                         until the kubelet has a plugin registered, and its devices are published
//   claim NAME DEVICE …          a claim with these devices allocated, as the scheduler does it
//   prepare NAME, unprepare NAME the kubelet's calls; "prepare" is answered with the claim's CDI devices
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "tests/standin/api_server.h"
#include "tests/standin/bundle.h"
#include "tests/standin/node_setup.h"
#include "tests/standin/serve.h"

namespace tessera::standin {
namespace {

using tests::Kubelet;
using Words = std::vector<std::string_view>;

constexpr std::chrono::seconds kPatience{30};

struct ApiOptions {
  std::filesystem::path dir;
  std::string node_name = "node-a";
  std::filesystem::path claims;
  std::vector<std::string> versions{"v1"};
};

Result<void> CreateClaims(ApiServer& server, const std::filesystem::path& file) {
  TESSERA_ASSIGN(const std::string text, ReadFile(file));
  TESSERA_ASSIGN(const std::vector<json::Value> claims, json::ParseYaml(text));
  for (const json::Value& claim : claims) {
    boost::system::error_code absent;
    const json::Value* ns = claim.find_pointer("/metadata/namespace", absent);
    const std::string_view name = ns && ns->is_string() ? std::string_view(ns->as_string()) : "default";
    TESSERA_TRY(server.Create(Format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims", name), claim));
  }
  return {};
}

// "METHOD PATH [JSON]".
Result<json::Value> Execute(ApiServer& server, std::string_view line) {
  const auto [method, rest] = Cut(line, " ").value_or(std::pair{line, std::string_view()});
  const auto [path, body] = Cut(rest, " ").value_or(std::pair{rest, std::string_view()});
  json::Value object;
  if (!body.empty()) {
    TESSERA_ASSIGN(object, json::ParseJson(body));
  }
  if (method == "GET") return server.Get(path);
  if (method == "POST") return server.Create(path, object);
  if (method == "PUT") return server.Update(path, object);
  if (method == "PATCH") return server.Patch(path, object);
  if (method == "DELETE") {
    TESSERA_TRY(server.Delete(path));
    return json::Object{{"deleted", path}};
  }
  return BadConfig("StandinCommand", Format("{} is no method", Quote(method)));
}

std::string AnswerAdministrator(ApiServer& server, std::string_view line) {
  const auto answer = Execute(server, line);
  return answer ? json::PrintJson(*answer) : json::PrintJson({{"error", answer.error().message()}});
}

Result<void> RunApi(const ApiOptions& options) {
  const UniqueFd signals = EndSignals();
  TESSERA_ASSIGN(const auto server, ApiServer::Start({.versions = options.versions}));
  server->MakeNode(options.node_name);
  if (!options.claims.empty()) TESSERA_TRY(CreateClaims(*server, options.claims));
  TESSERA_TRY(server->WriteKubeconfig(options.dir / "kubeconfig"));
  Say("ready " + server->url());
  ServeLines(signals.get(), [&](std::string_view line) { return AnswerAdministrator(*server, line); });
  return {};
}

// The kubelet's and the scheduler's lines.
class NodeCommands {
 public:
  explicit NodeCommands(NodeSetup& node) : node_(node) {}

  std::string Answer(std::string_view line) {
    const Words words = Split(line, ' ');
    const std::string name(words.size() > 1 ? words[1] : "");
    if (words[0] == "wait") return Wait();
    if (words[0] == "flags") return Join(node_.PluginFlags(name), " ");
    if (words[0] == "claim") return MakeClaim(name, words);
    if (words[0] != "prepare" && words[0] != "unprepare") return AnswerAdministrator(node_.api(), line);
    const auto claim = claims_.find(name);
    if (claim == claims_.end()) return Format("error: there is no claim {}", Quote(name));
    return words[0] == "prepare" ? Prepare(claim->second) : Unprepare(claim->second);
  }

 private:
  std::string Wait() {
    if (!node_.WaitRegistered(kPatience)) return "error: no plugin has come to be registered";
    if (!node_.WaitPublished(kPatience)) return "error: no devices are published";
    return "registered, and its devices are published";
  }

  std::string MakeClaim(const std::string& name, const Words& words) {
    if (words.size() < 3 || claims_.contains(name)) return "error: a new name and devices are needed";
    const std::vector<std::string> devices(words.begin() + 2, words.end());
    const Kubelet::Claim& claim = claims_[name] = node_.MakeClaim(name, devices, false);
    return Format("claim {}/{} has {}; its UID is {}", claim.namespace_name, name, Join(devices, ", "), claim.uid);
  }

  std::string Prepare(const Kubelet::Claim& claim) {
    const Kubelet::Answer answer = node_.kubelet().Prepare(kDriverName, {claim});
    if (!answer.ok()) return "error: " + answer.error;
    std::string text = "prepared";
    for (const Kubelet::Device& device : answer.claims.at(claim.uid).devices) {
      for (const std::string& id : device.cdi_ids) text += " " + id;
    }
    return text;
  }

  std::string Unprepare(const Kubelet::Claim& claim) {
    const Kubelet::Answer answer = node_.kubelet().Unprepare(kDriverName, {claim});
    return answer.ok() ? "unprepared" : "error: " + answer.error;
  }

  NodeSetup& node_;
  std::map<std::string, Kubelet::Claim> claims_;
};

Result<void> RunNode(const ApiOptions& options) {
  const UniqueFd signals = EndSignals();
  TESSERA_ASSIGN(const auto node, NodeSetup::Make({.dir = options.dir, .name = options.node_name}));
  NodeCommands commands(*node);
  Say("ready " + node->api().url());
  ServeLines(signals.get(), [&](std::string_view line) { return commands.Answer(line); });
  return {};
}

void AddServerOptions(CLI::App& command, ApiOptions& options) {
  command.add_option("--dir", options.dir, "Where kubeconfig is written")->required()->check(CLI::ExistingDirectory);
  command.add_option("--node-name", options.node_name, "The node object made at start")->capture_default_str();
}

}  // namespace
}  // namespace tessera::standin

int main(int argc, char** argv) {
  using namespace tessera::standin;
  CLI::App app{"Stand-ins for what surrounds the node plugin"};
  app.require_subcommand(1);
  ApiOptions server;
  CLI::App* api = app.add_subcommand("api", "The Kubernetes API server");
  AddServerOptions(*api, server);
  api->add_option("--claims", server.claims, "ResourceClaims to start with, status included: a YAML stream");
  api->add_option("--versions", server.versions, "Served versions of resource.k8s.io")
      ->delimiter(',')
      ->capture_default_str();
  CLI::App* node = app.add_subcommand("node", "The API server, a kubelet, and folders for a plugin");
  AddServerOptions(*node, server);
  BundleOptions oci;
  CLI::App* bundle = app.add_subcommand("bundle", "An OCI bundle with the edits of CDI devices");
  bundle->add_option("--dir", oci.dir, "Where config.json is written")->required()->check(CLI::ExistingDirectory);
  bundle->add_option("--cdi-dir", oci.cdi_dirs, "Where CDI specs are")
      ->required()
      ->allow_extra_args(false)
      ->check(CLI::ExistingDirectory);
  bundle->add_option("--device", oci.devices, "A CDI device")->required()->allow_extra_args(false);
  char** const end = argv + argc;
  char** const rest = std::find(argv, end, std::string_view("--"));  // The container's command line follows.
  if (rest != end) oci.command.assign(rest + 1, end);
  CLI11_PARSE(app, static_cast<int>(rest - argv), argv);
  const auto result = api->parsed() ? RunApi(server) : node->parsed() ? RunNode(server) : WriteBundle(oci);
  if (result) return 0;
  std::fputs((result.error().Text() + "\n").c_str(), stderr);
  return 1;
}
