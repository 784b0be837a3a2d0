// kube/exec_plugin.h: credential plugins (client.authentication.k8s.io), run without a shell. Internal to kube/.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "kube/access.h"

namespace tessera::kube {

// users[].user.exec of a kubeconfig.
struct ExecConfig {
  struct Variable {
    std::string name, value;
  };
  std::string api_version, command;
  std::vector<std::string> args;
  std::vector<Variable> env;
  std::string install_hint, interactive_mode;
  bool provide_cluster_info = false;
};
template <class F>
void Describe(F& f, ExecConfig::Variable& v) {
  f.Required("name", v.name);
  f.Required("value", v.value);
}
template <class F>
void Describe(F& f, ExecConfig& c) {
  f.Optional("apiVersion", c.api_version);
  f.Required("command", c.command);
  f.Optional("args", c.args);
  f.Optional("env", c.env);
  f.Optional("installHint", c.install_hint);
  f.Optional("interactiveMode", c.interactive_mode);
  f.Optional("provideClusterInfo", c.provide_cluster_info);
}

struct ExecCredential {
  std::string token, client_certificate_pem, client_key_pem;
  std::optional<std::chrono::system_clock::time_point> expires;
};

struct ExecPlugin {
  ExecConfig config;
  std::filesystem::path directory;  // Of the kubeconfig: a command with a slash in it starts there.
  json::Value cluster;              // For provideClusterInfo.
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
};

// Runs the plugin and reads what it prints. Standard input is empty, standard error is ours. Errors never repeat its
// output.
Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin);

// Only what the plugin's output means.
Result<ExecCredential> ParseExecCredential(std::string_view output, std::string_view api_version);

// "2026-08-21T09:30:00Z", with any fraction and offset.
std::optional<std::chrono::system_clock::time_point> ParseRfc3339(std::string_view text);

// The token of a plugin, run again when it expires or is rejected.
class ExecTokens final : public TokenSource {
 public:
  ExecTokens(ExecPlugin plugin, ExecCredential first, const Clock& clock = SystemClock())
      : plugin_(std::move(plugin)), clock_(clock), credential_(std::move(first)) {}

  Result<std::string> Token() override;
  void Reject() override;

 private:
  const ExecPlugin plugin_;
  const Clock& clock_;
  std::mutex mutex_;  // Guards the rest, and is held while the plugin runs: it may ask a person, once.
  std::optional<ExecCredential> credential_;
};

}  // namespace tessera::kube
