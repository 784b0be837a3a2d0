#include "kube/access.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "base/fd.h"
#include "base/text.h"
#include "kube/exec_plugin.h"
#include "kube/token_source.h"

namespace tessera::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AccessTest : public ::testing::Test {
 protected:
  fs::path Put(const fs::path& name, std::string_view content) {
    const fs::path path = dir_.path() / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(ReplaceFile(path, content).has_value());
    return path;
  }
  fs::path Program(const fs::path& name, std::string_view script) {
    const fs::path path = Put(name, script);
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return path;
  }
  // A kubeconfig with one cluster and one user; the arguments are the lines of each.
  Result<Access> Load(std::string_view cluster, std::string_view user, ExecPlugins exec = ExecPlugins::kRefuse) {
    const fs::path path = Put("config", Format("apiVersion: v1\nkind: Config\ncurrent-context: here\n"
                                               "contexts:\n- name: here\n  context: {{cluster: c, user: u}}\n"
                                               "clusters:\n- name: c\n  cluster: {{{}}}\n"
                                               "users:\n- name: u\n  user: {{{}}}\n",
                                               cluster, user));
    return FromKubeconfig({.path = path, .exec = exec});
  }

  TempDir dir_ = std::move(TempDir::Create("access")).value();
};

constexpr std::string_view kCluster = "server: 'https://10.0.0.1:6443', certificate-authority-data: Q0E=";

TEST_F(AccessTest, ReadsAKubeconfig) {
  Put("ca.pem", "CA of a file");
  Put("secret/token", "from-a-file\n");
  const auto by_file = Load(
      "server: 'https://[fd00::1]:6443/k8s/clusters/c-1/', certificate-authority: ca.pem, "
      "tls-server-name: kubernetes",
      "tokenFile: secret/token, token: ignored");
  ASSERT_TRUE(by_file.has_value()) << by_file.error().Text();
  EXPECT_EQ(by_file->endpoint, (net::Endpoint{"fd00::1", 6443, true}));
  EXPECT_EQ(by_file->path_prefix, "/k8s/clusters/c-1");
  EXPECT_EQ(by_file->tls, (net::TlsIdentity{.ca_pem = "CA of a file", .server_name = "kubernetes"}));
  EXPECT_EQ(by_file->tokens->Token(), "from-a-file");
  EXPECT_EQ(by_file->describe, "https://[fd00::1]:6443/k8s/clusters/c-1/ (context here)");

  const auto inlined = Load(kCluster, "client-certificate-data: Q2VydA==, client-key-data: S2V5");
  ASSERT_TRUE(inlined.has_value()) << inlined.error().Text();
  EXPECT_EQ(inlined->tls.ca_pem, "CA");
  EXPECT_EQ(inlined->tls.client_certificate_pem, "Cert");
  EXPECT_EQ(inlined->tls.client_key_pem, "Key");
  EXPECT_EQ(inlined->tokens, nullptr);

  const auto plain = Load("server: 'http://localhost:8001'", "");
  ASSERT_TRUE(plain.has_value()) << plain.error().Text();
  EXPECT_EQ(plain->endpoint, (net::Endpoint{"localhost", 8001, false}));
}

TEST_F(AccessTest, RefusesWhatItDoesNotDo) {
  struct Case {
    std::string_view cluster, user, code, message;
  };
  const Case cases[] = {
      {"server: 'https://a', insecure-skip-tls-verify: true", "", "KubeconfigUnsupported", "insecure-skip-tls-verify"},
      {"server: 'https://a', certificate-authority-data: Q0E=, proxy-url: 'http://p'", "", "KubeconfigUnsupported",
       "proxy-url is set"},
      {"server: 'https://a'", "", "KubeconfigUnsupported", "has no certificate-authority"},
      {"server: 'http://a'", "token: s3cret", "KubeconfigUnsupported", "would be readable on the way"},
      {kCluster, "username: me, password: s3cret", "KubeconfigUnsupported", "username and password are set"},
      {kCluster, "auth-provider: {name: gcp, config: {access-token: s3cret}}", "KubeconfigUnsupported",
       "auth-provider is set"},
      {kCluster, "token: s3cret, as: admin", "KubeconfigUnsupported", "impersonation"},
      {kCluster, "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws}", "KubeconfigUnsupported",
       "come from the plugin \"aws\"; this program runs no plugins"},
      {kCluster, "token: [s3cret]", "KubeconfigInvalid", "user \"u\" has a field of the wrong type"},
      {kCluster, "token: \"s3cret\\u0001\"", "TokenInvalid", "holds no bearer token"},
      {kCluster, "client-key-data: '!s3cret'", "KubeconfigInvalid", "client-key-data is no base64"},
      {kCluster, "client-key-data: czNjcmV0", "KubeconfigInvalid", "needed together"},
      {kCluster, "client-certificate: absent.pem", "FileUnreadable", "absent.pem: No such file"},
      {"server: 10.0.0.1", "", "KubeconfigInvalid", "is no https://host:port address"},
      {"server: 'ftp://a'", "", "KubeconfigInvalid", "is no https://host:port address"},
      {"server: 'https://a:0'", "", "KubeconfigInvalid", "is no https://host:port address"},
      {"server: 'https://:443'", "", "KubeconfigInvalid", "is no https://host:port address"},
      {"server: 'https://u@a'", "", "KubeconfigInvalid", "is no https://host:port address"},
      {"server: 'https://[::1'", "", "KubeconfigInvalid", "is no https://host:port address"},
      {"server: 3", "", "KubeconfigInvalid", "cluster \"c\": server: expected string"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(Format("{} / {}", c.cluster, c.user));
    const auto access = Load(c.cluster, c.user);
    ASSERT_FALSE(access.has_value());
    EXPECT_EQ(access.error().code(), c.code);
    EXPECT_THAT(access.error().message(), AllOf(HasSubstr("kubeconfig "), HasSubstr(c.message)));
    EXPECT_THAT(access.error().Text(), Not(HasSubstr("s3cret")));
  }
}

TEST_F(AccessTest, NamesWhatAKubeconfigLacks) {
  struct Case {
    std::string_view text, context, message;
  };
  const Case cases[] = {
      {"", "", "0 documents"},
      {"a: b\n---\nc: d\n", "", "2 documents"},
      {"{", "", "at line 2"},
      {"[]", "", "expected object"},
      {"contexts: []", "", "no current-context"},
      {"contexts: []", "x", "no context named \"x\""},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: c}}]", "", "no cluster named \"c\""},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {}}]",
       "", "no user named \"u\""},
      {"current-context: a\ncontexts: [{name: a}]", "", "cluster: required field is missing"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto access = FromKubeconfig({.path = Put("config", c.text), .context = std::string(c.context)});
    ASSERT_FALSE(access.has_value());
    EXPECT_THAT(access.error().message(), HasSubstr(c.message));
    EXPECT_EQ(access.error().kind(), ErrorKind::kPermanentConfig);
  }
  EXPECT_FALSE(FromKubeconfig({.path = dir_.path() / "absent"}).has_value());
}

TEST_F(AccessTest, FindsTheServiceAccountInAPod) {
  const fs::path account = "var/run/secrets/kubernetes.io/serviceaccount";
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_THAT(InCluster(dir_.path()).error().Text(), HasSubstr("Give --kubeconfig"));
  ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  EXPECT_THAT(InCluster(dir_.path()).error().Text(), HasSubstr("Mount a service account token"));
  Put(account / "ca.crt", "CA");
  EXPECT_THAT(InCluster(dir_.path()).error().Text(), HasSubstr("Mount a service account token"));
  Put(account / "token", "one");
  const auto access = InCluster(dir_.path());
  ASSERT_TRUE(access.has_value()) << access.error().Text();
  EXPECT_EQ(access->endpoint, (net::Endpoint{"fd00::1", 443, true}));
  EXPECT_EQ(access->tls.ca_pem, "CA");
  EXPECT_EQ(access->describe, "https://[fd00::1]:443 (in-cluster)");
  EXPECT_EQ(access->tokens->Token(), "one");
}

TEST_F(AccessTest, TokenFileFollowsItsFile) {
  FakeClock clock;
  clock.Advance(std::chrono::hours(1));
  const fs::path path = Put("token", "one");
  TokenFile tokens(path, clock);
  EXPECT_EQ(tokens.Token(), "one");
  Put("token", "two");  // By rename, as the kubelet does.
  EXPECT_EQ(tokens.Token(), "two");
  fs::remove(path);
  EXPECT_EQ(tokens.Token(), "two") << "the last one may still be good";
  tokens.Reject();
  EXPECT_EQ(tokens.Token().error().code(), "FileUnreadable");
  Put("token", " \n");
  EXPECT_EQ(tokens.Token().error().code(), "TokenInvalid");
}

TEST_F(AccessTest, TokenFileIsReadEveryMinuteEvenWhenItLooksTheSame) {
  FakeClock clock;
  clock.Advance(std::chrono::hours(1));
  const fs::path path = Put("token", "one");
  struct stat before{};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  TokenFile tokens(path, clock);
  ASSERT_EQ(tokens.Token(), "one");
  std::ofstream(path) << "two";  // In place, and with the old time.
  const timespec times[2]{before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(tokens.Token(), "one");
  clock.Advance(std::chrono::minutes(1));
  EXPECT_EQ(tokens.Token(), "two");
}

TEST(ExecCredential, IsReadStrictlyAndNeverRepeated) {
  constexpr std::string_view kVersion = "client.authentication.k8s.io/v1";
  struct Case {
    std::string_view status, message;  // Empty message: good.
  };
  const Case cases[] = {
      {R"({"token": "s3cret"})", ""},
      {R"({"token": "s3cret", "expirationTimestamp": "2026-08-21T09:30:00.5+02:00"})", ""},
      {R"({"clientCertificateData": "C", "clientKeyData": "K"})", ""},
      {R"({"clientCertificateData": "s3cret"})", "without its key"},
      {R"({"token": ["s3cret"]})", "no ExecCredential with a status"},
      {R"({"token": "s3cret\n"} garbage s3cret)", "no JSON"},
      {R"({})", "no credential"},
      {R"(null)", "no ExecCredential with a status"},
      {R"({"token": "s3cret", "expirationTimestamp": "tomorrow"})", "is no time"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.status);
    const std::string output =
        Format(R"({{"kind": "ExecCredential", "apiVersion": "{}", "status": {}}})", kVersion, c.status);
    const auto credential = ParseExecCredential(output, kVersion);
    ASSERT_EQ(credential.has_value(), c.message.empty());
    if (credential.has_value()) continue;
    EXPECT_THAT(credential.error().message(), HasSubstr(c.message));
    EXPECT_THAT(credential.error().Text(), Not(HasSubstr("s3cret")));
  }
  EXPECT_THAT(ParseExecCredential(R"({"kind": "ExecCredential", "apiVersion": "x/v2", "status": {}})", kVersion)
                  .error()
                  .message(),
              HasSubstr("another version"));
}

TEST(Rfc3339, Parses) {
  using namespace std::chrono;
  const auto noon = sys_days(year(2026) / 8 / 21) + hours(12);
  struct Case {
    std::string_view text;
    std::optional<system_clock::time_point> time;
  };
  const Case cases[] = {
      {"2026-08-21T12:00:00Z", noon},
      {"2026-08-21T12:00:00.123456789Z", noon},
      {"2026-08-21T14:30:00+02:30", noon},
      {"2026-08-21T07:00:00-05:00", noon},
      {"2026-08-21T12:00:00", std::nullopt},
      {"2026-08-21 12:00:00Z", std::nullopt},
      {"2026-02-30T12:00:00Z", std::nullopt},
      {"2026-08-21T12:00:00+2:00", std::nullopt},
      {"2026-08-21T12:00:00+aa:00", std::nullopt},
      {"", std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(ParseRfc3339(c.text), c.time) << c.text;
}

TEST_F(AccessTest, RunsCredentialPluginsWhenAllowed) {
  // Prints what it was told as its token, and counts its runs.
  Program("plugin",
          "#!/bin/sh\necho run >> \"$COUNT\"\n"
          "case \"$KUBERNETES_EXEC_INFO\" in *'\"interactive\":false'*'\"server\":'*) ;; *) exit 9 ;; esac\n"
          "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",'\n"
          "echo \"\\\"status\\\":{\\\"token\\\":\\\"$1-$EXTRA\\\",\\\"clientCertificateData\\\":\\\"C\\\",\"\n"
          "echo '\"clientKeyData\":\"K\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"}}'\n");
  const fs::path count = dir_.path() / "count";
  const auto access =
      Load(kCluster,
           Format("exec: {{apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin, args: ['a b'], "
                  "provideClusterInfo: true, env: [{{name: EXTRA, value: x}}, {{name: COUNT, value: '{}'}}]}}",
                  count.string()),
           ExecPlugins::kRun);
  ASSERT_FALSE(access.has_value()) << "a token with a blank in it is none";
  const auto good =
      Load(kCluster,
           Format("exec: {{apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin, args: [a], "
                  "provideClusterInfo: true, env: [{{name: EXTRA, value: x}}, {{name: COUNT, value: '{}'}}]}}",
                  count.string()),
           ExecPlugins::kRun);
  ASSERT_TRUE(good.has_value()) << good.error().Text();
  EXPECT_EQ(good->tls.client_certificate_pem, "C");
  EXPECT_EQ(good->tls.client_key_pem, "K");
  EXPECT_EQ(good->tokens->Token(), "a-x");  // Had expired, so it ran again.
  EXPECT_EQ(ReadFile(count).value(), "run\nrun\nrun\n");
}

TEST_F(AccessTest, SaysWhyACredentialPluginFailed) {
  Program("fails", "#!/bin/sh\nexit 3\n");
  Program("dies", "#!/bin/sh\nkill -9 $$\n");
  Program("hangs", "#!/bin/sh\nsleep 1000 & sleep 1000\n");
  Program("floods", "#!/bin/sh\nexec cat /dev/zero\n");
  struct Case {
    std::string_view command, message;
    std::string_view version = "client.authentication.k8s.io/v1";
  };
  const Case cases[] = {
      {"./fails", "ended with exit code 3"},
      {"./dies", "ended with a signal"},
      {"./hangs", "did not answer in time"},
      {"./floods", "printed more than 1048576 bytes"},
      {"./absent", "cannot be started: No such file or directory; see example.com"},
      {"no-such-program-here", "cannot be started: No such file or directory; see example.com"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.command);
    const ExecPlugin plugin{.config = {.api_version = std::string(c.version),
                                       .command = std::string(c.command),
                                       .install_hint = "see example.com"},
                            .directory = dir_.path(),
                            .timeout = std::chrono::milliseconds(c.command == "./hangs" ? 100 : 30'000)};
    const auto credential = RunExecPlugin(plugin);
    ASSERT_FALSE(credential.has_value());
    EXPECT_THAT(credential.error().Text(), HasSubstr(c.message));
  }
  const auto refused = [&](std::string_view exec) {
    return Load(kCluster, Format("exec: {{{}}}", exec), ExecPlugins::kRun).error().message();
  };
  EXPECT_THAT(refused("apiVersion: client.authentication.k8s.io/v1alpha1, command: x"), HasSubstr("v1alpha1"));
  EXPECT_THAT(refused("apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always"),
              HasSubstr("interactiveMode"));
}

}  // namespace
}  // namespace tessera::kube
