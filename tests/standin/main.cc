// tessera-standin: the stand-ins as a program, for the demo and for trying things by hand.
//
//   tessera-standin api --dir DIR [--node-name NAME] [--claims FILE]
//
// serves the API server double, writes DIR/kubeconfig, and says "ready https://127.0.0.1:PORT". Lines on standard input
// are requests of an administrator, each answered with one line: GET /api/v1/nodes, DELETE /api/v1/nodes/a,
// POST /api/v1/nodes {"metadata":{"name":"b"}}. It ends on SIGTERM or SIGINT, not when standard input does.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>

#include "base/fd.h"
#include "base/text.h"
#include "tests/standin/api_server.h"

namespace tessera::standin {
namespace {

struct ApiOptions {
  std::filesystem::path dir;
  std::string node_name = "node-a";
  std::filesystem::path claims;
  std::vector<std::string> versions{"v1"};
};

void Say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// Signals that end the program, as a descriptor. To be called before the first thread starts, so that all block them.
UniqueFd EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC));
}

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

// Answers whole lines of `buffer` and takes them out.
void Answer(ApiServer& server, std::string& buffer) {
  for (std::size_t end = 0; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1)) {
    const std::string_view line = Trim(std::string_view(buffer).substr(0, end));
    if (line.empty()) continue;
    const auto answer = Execute(server, line);
    Say(answer ? json::PrintJson(*answer) : json::PrintJson({{"error", answer.error().message()}}));
  }
}

void ServeUntilSignalled(ApiServer& server, int signals) {
  std::string buffer;
  std::array<pollfd, 2> waits{{{signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  while (true) {
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    if (waits[1].revents == 0) continue;
    std::array<char, 4096> piece;
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got <= 0) {
      waits[1].fd = -1;  // Nobody will ask any more.
    } else {
      buffer.append(piece.data(), static_cast<std::size_t>(got));
      Answer(server, buffer);
    }
  }
}

Result<void> RunApi(const ApiOptions& options) {
  const UniqueFd signals = EndSignals();
  TESSERA_ASSIGN(const auto server, ApiServer::Start({.versions = options.versions}));
  server->MakeNode(options.node_name);
  if (!options.claims.empty()) TESSERA_TRY(CreateClaims(*server, options.claims));
  TESSERA_TRY(server->WriteKubeconfig(options.dir / "kubeconfig"));
  Say("ready " + server->url());
  ServeUntilSignalled(*server, signals.get());
  return {};
}

}  // namespace
}  // namespace tessera::standin

int main(int argc, char** argv) {
  using namespace tessera::standin;
  CLI::App app{"Stand-ins for what surrounds the node plugin"};
  app.require_subcommand(1);
  ApiOptions options;
  CLI::App* api = app.add_subcommand("api", "The Kubernetes API server");
  api->add_option("--dir", options.dir, "Where kubeconfig is written")->required()->check(CLI::ExistingDirectory);
  api->add_option("--node-name", options.node_name, "The node object made at start")->capture_default_str();
  api->add_option("--claims", options.claims, "ResourceClaims to start with, status included: a YAML stream");
  api->add_option("--versions", options.versions, "Served versions of resource.k8s.io")
      ->delimiter(',')
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto result = RunApi(options);
  if (result) return 0;
  std::fputs((result.error().Text() + "\n").c_str(), stderr);
  return 1;
}
