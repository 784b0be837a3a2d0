#include "kube/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"
#include "kube/token_source.h"

namespace tessera::kube {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxOutput = std::size_t{1} << 20;

struct Status {
  std::string token, certificate, key, expires;
};
template <class F>
void Describe(F& f, Status& s) {
  f.Optional("token", s.token);
  f.Optional("clientCertificateData", s.certificate);
  f.Optional("clientKeyData", s.key);
  f.Optional("expirationTimestamp", s.expires);
}
struct Answer {
  std::string kind, api_version;
  std::optional<Status> status;
};
template <class F>
void Describe(F& f, Answer& a) {
  f.Required("kind", a.kind);
  f.Required("apiVersion", a.api_version);
  f.Optional("status", a.status);
}

std::unexpected<Error> Failed(std::string message, std::string advice = {}) {
  return BadConfig("CredentialPlugin", std::move(message), std::move(advice));
}

// A program under way. Killed with its children when it is let go of before its end.
class Process {
 public:
  Process(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  int output() const { return output_.get(); }
  int Wait() {  // After the output ended. A plugin that closed it and lives on is killed.
    int status = 0;
    for (int i = 0; i < 100; ++i) {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return status;
      }
      ::poll(nullptr, 0, 10);
    }
    return -1;
  }

 private:
  pid_t pid_;
  UniqueFd output_;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Ours, the plugin's own, and what is asked of it.
std::vector<std::string> EnvironmentOf(const ExecPlugin& plugin) {
  std::vector<std::string> variables;
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(variables, [&](const std::string& old) { return old.starts_with(name + "="); });
    variables.push_back(name + "=" + value);
  };
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  for (const auto& variable : plugin.config.env) set(variable.name, variable.value);
  json::Object spec{{"interactive", false}};
  if (plugin.config.provide_cluster_info) spec["cluster"] = plugin.cluster;
  set("KUBERNETES_EXEC_INFO",
      json::PrintJson(json::Object{
          {"apiVersion", plugin.config.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}}));
  return variables;
}

Result<std::unique_ptr<Process>> Start(const ExecPlugin& plugin) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "CredentialPlugin", "pipe");
  UniqueFd ours{ends[0]};
  const UniqueFd theirs{ends[1]};
  std::string command = plugin.config.command;
  if (command.contains('/')) command = (plugin.directory / command).string();
  std::vector<std::string> arguments{command};
  arguments.insert(arguments.end(), plugin.config.args.begin(), plugin.config.args.end());
  std::vector<std::string> variables = EnvironmentOf(plugin);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // So that its children can be killed with it.
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, command.c_str(), &files, &attributes, Pointers(arguments).data(),
                                   Pointers(variables).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    return Failed(Format("the credential plugin {} cannot be started: {}", Quote(command), ::strerror(error)),
                  plugin.config.install_hint);
  }
  return std::make_unique<Process>(pid, std::move(ours));
}

Result<std::string> ReadAll(const Process& process, steady_clock::time_point deadline, const std::string& who) {
  std::string output;
  std::array<char, 4096> piece{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    pollfd readable{process.output(), POLLIN, 0};
    const int ready = left.count() > 0 ? ::poll(&readable, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Failed(who + " did not answer in time");
    const ssize_t got = ::read(process.output(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, "CredentialPlugin", "reading from " + who);
    if (got == 0) return output;
    output.append(piece.data(), static_cast<std::size_t>(got));
    if (output.size() > kMaxOutput) return Failed(Format("{} printed more than {} bytes", who, kMaxOutput));
  }
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> ParseRfc3339(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return std::nullopt;
  }
  const auto number = [](std::string_view digits) { return ParseNumber<int>(digits).value_or(0); };
  const year_month_day day{year(number(text.substr(0, 4))), month(static_cast<unsigned>(number(text.substr(5, 2)))),
                           std::chrono::day(static_cast<unsigned>(number(text.substr(8, 2))))};
  const auto time =
      hours(number(text.substr(11, 2))) + minutes(number(text.substr(14, 2))) + seconds(number(text.substr(17, 2)));
  std::string_view zone = text.substr(kShape.size());
  if (zone.starts_with('.')) zone.remove_prefix(std::min(zone.find_first_not_of("0123456789", 1), zone.size()));
  if (!day.ok() || time > hours(24)) return std::nullopt;
  if (zone == "Z") return sys_days(day) + time;
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return std::nullopt;
  const auto ahead = ParseNumber<unsigned>(zone.substr(1, 2));
  const auto ahead_minutes = ParseNumber<unsigned>(zone.substr(4, 2));
  if (!ahead || !ahead_minutes) return std::nullopt;
  const auto offset = hours(*ahead) + minutes(*ahead_minutes);
  return sys_days(day) + (zone[0] == '+' ? time - offset : time + offset);
}

Result<ExecCredential> ParseExecCredential(std::string_view output, std::string_view api_version) {
  const auto value = json::ParseJson(output);
  if (!value.has_value()) return Failed("the credential plugin printed no JSON");
  // The decoder's messages repeat values, which may be secrets: none of them is passed on.
  const auto answer = json::Decode<Answer>(*value, json::Unknown::kIgnore);
  if (!answer.has_value() || answer->kind != "ExecCredential" || !answer->status) {
    return Failed("the credential plugin printed no ExecCredential with a status");
  }
  if (answer->api_version != api_version) {
    return Failed(Format("the credential plugin answered in another version than {}", api_version));
  }
  const Status& status = *answer->status;
  ExecCredential credential{.client_certificate_pem = status.certificate, .client_key_pem = status.key};
  if (status.certificate.empty() != status.key.empty()) {
    return Failed("the credential plugin printed a client certificate without its key, or the reverse");
  }
  if (status.token.empty() && status.key.empty()) return Failed("the credential plugin printed no credential");
  if (!status.token.empty()) {
    TESSERA_ASSIGN(credential.token, CheckToken(status.token, "the credential plugin's answer"));
  }
  if (!status.expires.empty()) {
    credential.expires = ParseRfc3339(status.expires);
    if (!credential.expires) return Failed("the credential plugin printed an expirationTimestamp that is no time");
  }
  return credential;
}

Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin) {
  const std::string who = "the credential plugin " + Quote(plugin.config.command);
  TESSERA_ASSIGN(const std::unique_ptr<Process> process, Start(plugin));
  TESSERA_ASSIGN(const std::string output, ReadAll(*process, steady_clock::now() + plugin.timeout, who));
  const int status = process->Wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string end = status >= 0 && WIFEXITED(status) ? Format("exit code {}", WEXITSTATUS(status)) : "a signal";
    return Failed(Format("{} ended with {}", who, end), "Run it by hand to see why.");
  }
  return ParseExecCredential(output, plugin.config.api_version);
}

Result<std::string> ExecTokens::Token() {
  const std::lock_guard lock(mutex_);
  if (!credential_ || (credential_->expires && *credential_->expires <= clock_.Now())) {
    TESSERA_ASSIGN(credential_, RunExecPlugin(plugin_));
  }
  return credential_->token;
}

void ExecTokens::Reject() {
  const std::lock_guard lock(mutex_);
  credential_.reset();
}

}  // namespace tessera::kube
