// The API server double keeps the promises that tests of the plugin build on. The client here is OpenSSL and text, so
// that nothing of ours stands between the bytes and the assertions.
#include "tests/standin/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "base/text.h"

namespace tessera::standin {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr auto kPatience = 20s;
constexpr std::string_view kSlices = "/apis/resource.k8s.io/v1/resourceslices";

struct Reply {
  int status = 0;  // 0: the connection ended before a whole answer.
  std::string head, body;

  json::Value json() const { return json::ParseJson(body).value(); }
};

// One connection.
class RawClient {
 public:
  explicit RawClient(ApiServer& server, std::string token = "standin-token", const Identity* identity = nullptr)
      : token_(std::move(token)),
        context_(ClientContext(server.ca_pem(), identity).value()),
        stream_(ConnectLoopback(server.port()).value(), *context_) {
    connected_ = stream_.Connect();
  }

  bool connected() const { return connected_; }

  void Send(std::string_view method, std::string_view target, const json::Value& body = nullptr,
            std::string_view content_type = "application/json") {
    const std::string text = body.is_null() ? "" : json::PrintJson(body);
    const std::string authorization = token_.empty() ? "" : Format("Authorization: Bearer {}\r\n", token_);
    stream_.Write(
        Format("{} {} HTTP/1.1\r\nHost: x\r\n{}User-Agent: raw\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
               method, target, authorization, content_type, text.size(), text));
  }

  Reply Receive() {
    Reply reply;
    reply.head = Until("\r\n\r\n");
    const auto length = Cut(reply.head, "Content-Length: ");
    if (!length) return reply;
    const auto size = ParseNumber<std::size_t>(Cut(length->second, "\r\n")->first).value();
    while (buffer_.size() < size) {
      if (!Fill()) return reply;
    }
    reply.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    reply.status = ParseNumber<int>(std::string_view(reply.head).substr(9, 3)).value();
    return reply;
  }

  Reply Do(std::string_view method, std::string_view target, const json::Value& body = nullptr,
           std::string_view content_type = "application/json") {
    Send(method, target, body, content_type);
    return Receive();
  }

  // Starts a watch; true when it was granted.
  bool Watch(std::string_view target) {
    Send("GET", target);
    return Until("\r\n\r\n").find("Transfer-Encoding: chunked") != std::string::npos;
  }
  // The next chunk, which is one line; empty at the end of the watch, "cut" when the connection ended inside.
  std::string NextLine() {
    const std::string size_line = Until("\r\n");
    if (size_line.empty()) return "cut";
    const auto size = ParseNumber<std::size_t>(Trim(size_line), 16).value();
    while (buffer_.size() < size + 2) {
      if (!Fill()) return "cut";
    }
    std::string line = buffer_.substr(0, size);
    buffer_.erase(0, size + 2);
    return line;
  }
  // "ADDED a", "BOOKMARK", "ERROR 410".
  std::string NextEvent() {
    const std::string line = NextLine();
    const auto event = json::ParseJson(line);
    if (!event) return line;
    const std::string type(event->at("type").as_string());
    const json::Object& object = event->at("object").as_object();
    if (type == "BOOKMARK") return type;
    if (type == "ERROR") return Format("ERROR {}", object.at("code").as_int64());
    return Format("{} {}", type, std::string_view(object.at("metadata").at("name").as_string()));
  }

 private:
  bool Fill() {
    std::array<char, 4096> piece;
    const std::size_t got = stream_.Read(piece.data(), piece.size());
    buffer_.append(piece.data(), got);
    return got > 0;
  }
  // Up to and with the mark; empty when the connection ends before.
  std::string Until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = buffer_.find(mark)) == std::string::npos) {
      if (!Fill()) return {};
    }
    std::string text = buffer_.substr(0, at + mark.size());
    buffer_.erase(0, text.size());
    return text;
  }

  std::string token_;
  SslContext context_;
  TlsStream stream_;
  bool connected_ = false;
  std::string buffer_;
};

json::Value Slice(std::string_view name, std::string_view node = "node-a", std::int64_t generation = 1) {
  const json::Object pool{{"name", node}, {"generation", generation}, {"resourceSliceCount", 1}};
  const json::Object device{{"name", "gpu-0"}, {"attributes", {{"index", {{"int", 0}}}}}};
  return {
      {"kind", "ResourceSlice"},
      {"apiVersion", "resource.k8s.io/v1"},
      {"metadata", {{"name", name}}},
      {"spec", {{"driver", "gpu.nvidia.com"}, {"nodeName", node}, {"pool", pool}, {"devices", json::Array{device}}}}};
}

std::string At(std::string_view name) { return Format("{}/{}", kSlices, name); }
std::string Meta(const json::Value& object, std::string_view field) {
  return std::string(object.at("metadata").at(field).as_string());
}
std::vector<std::string> Names(const json::Value& list) {
  std::vector<std::string> names;
  for (const json::Value& item : list.at("items").as_array()) names.push_back(Meta(item, "name"));
  return names;
}

class ApiServerTest : public ::testing::Test {
 protected:
  std::unique_ptr<ApiServer> server = ApiServer::Start().value();
};

TEST_F(ApiServerTest, FillsInWhatTheServerOwns) {
  RawClient client(*server);
  json::Value slice = Slice("");
  slice.as_object()["metadata"] = {{"generateName", std::string(70, 'x')}};
  const Reply created = client.Do("POST", kSlices, slice);
  ASSERT_EQ(created.status, 201);
  const json::Value object = created.json();
  EXPECT_THAT(Meta(object, "name"), AllOf(SizeIs(63), HasSubstr(std::string(58, 'x'))));
  EXPECT_THAT(Meta(object, "uid"), SizeIs(36));
  EXPECT_EQ(Meta(object, "resourceVersion"), std::to_string(server->version()));
  EXPECT_THAT(Meta(object, "creationTimestamp"), HasSubstr("T"));
  EXPECT_EQ(object.at("metadata").at("generation"), 1);
  EXPECT_EQ(client.Do("GET", At(Meta(object, "name"))).json(), object);
}

TEST_F(ApiServerTest, RefusesInKubernetesWords) {
  RawClient client(*server);
  client.Do("POST", kSlices, Slice("a"));
  json::Value stale = Slice("a", "node-a", 2);
  stale.at("metadata").as_object()["resourceVersion"] = "1";
  json::Value beta = Slice("b");
  beta.as_object()["apiVersion"] = "resource.k8s.io/v1beta1";
  struct Case {
    std::string_view method;
    std::string target;
    json::Value body;
    int status;
    std::string_view reason, words;
  };
  const Case cases[] = {
      {"GET", At("b"), nullptr, 404, "NotFound", R"(resourceslices.resource.k8s.io "b" not found)"},
      {"GET", "/api/v1/nodes/n", nullptr, 404, "NotFound", R"(nodes "n" not found)"},
      {"POST", std::string(kSlices), Slice("a"), 409, "AlreadyExists", "already exists"},
      {"PUT", At("a"), stale, 409, "Conflict", "the object has been modified"},
      {"PUT", At("b"), Slice("b"), 404, "NotFound", "not found"},
      {"POST", std::string(kSlices), beta, 400, "BadRequest", "does not match the expected API version"},
      {"DELETE", At("a"), {{"preconditions", {{"uid", "u"}}}}, 409, "Conflict", "UID in precondition: u"},
      {"DELETE", At("a"), {{"preconditions", {{"resourceVersion", "1"}}}}, 409, "Conflict", "Precondition failed"},
      {"GET", std::string(kSlices) + "?fieldSelector=spec.foo%3Da", nullptr, 400, "BadRequest",
       "field label not supported: spec.foo"},
      {"PATCH", At("a"), json::Object(), 415, "UnsupportedMediaType", "unknown format"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(Format("{} {} {}", c.method, c.target, c.words));
    const Reply reply = client.Do(c.method, c.target, c.body);
    ASSERT_EQ(reply.status, c.status);
    const json::Value status = reply.json();
    EXPECT_EQ(status.at("kind"), "Status");
    EXPECT_EQ(status.at("code"), c.status);
    EXPECT_EQ(status.at("reason").as_string(), c.reason);
    EXPECT_THAT(std::string(status.at("message").as_string()), HasSubstr(c.words));
  }
}

TEST_F(ApiServerTest, UpdatesCountVersionsAndGenerations) {
  RawClient client(*server);
  const json::Value first = client.Do("POST", kSlices, Slice("a")).json();
  EXPECT_EQ(client.Do("PUT", At("a"), first).json(), first) << "nothing changed: no new version";
  const json::Value second = client.Do("PUT", At("a"), Slice("a", "node-a", 2)).json();
  EXPECT_EQ(second.at("metadata").at("generation"), 2) << "without a resourceVersion the update is unconditional";
  EXPECT_EQ(Meta(second, "uid"), Meta(first, "uid"));
  EXPECT_EQ(client.Do("PUT", At("a"), first).status, 409);
  const json::Value patch{{"spec", {{"nodeName", nullptr}, {"pool", {{"generation", 3}}}}}};
  const json::Value third = client.Do("PATCH", At("a"), patch, "application/merge-patch+json").json();
  EXPECT_EQ(third.at("spec").at("pool").at("generation"), 3);
  EXPECT_EQ(third.at("spec").at("pool").at("name"), "node-a");
  EXPECT_FALSE(third.at("spec").as_object().contains("nodeName"));
}

TEST_F(ApiServerTest, ApplyCreatesWhatIsAbsent) {
  RawClient client(*server);
  constexpr std::string_view kApply = "application/apply-patch+yaml";
  EXPECT_EQ(client.Do("PATCH", At("a"), Slice("a"), kApply).status, 422) << "a field manager is required";
  EXPECT_EQ(client.Do("PATCH", At("a") + "?fieldManager=t", Slice("a"), kApply).status, 201);
  EXPECT_EQ(client.Do("PATCH", At("a") + "?fieldManager=t", Slice("a", "node-a", 2), kApply).status, 200);
}

TEST_F(ApiServerTest, AnAppliersEntriesLeaveThoseOfOthersAlone) {
  RawClient client(*server);
  constexpr std::string_view kApply = "application/apply-patch+yaml";
  server->MakeClaim({.name = "a",
                     .devices = {{.pool = "n", .device = "gpu-0"},
                                 {.pool = "n", .device = "gpu-1"},
                                 {.driver = "net.example.com", .pool = "n", .device = "eth0"}}});
  const std::string claim = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/a/status?fieldManager=";
  const auto entry = [](std::string_view driver, std::string_view device, int data = 1) {
    return json::Value{{"driver", driver}, {"pool", "n"}, {"device", device}, {"data", {{"x", data}}}};
  };
  const auto apply = [&](std::string_view manager, json::Array entries) {
    return client.Do("PATCH", claim + std::string(manager),
                     json::Object{{"status", json::Object{{"devices", std::move(entries)}}}}, kApply);
  };
  const auto devices = [](const auto& answer) {
    std::vector<std::string> names;
    const json::Value object = answer.json();
    for (const json::Value& device : object.at("status").at("devices").as_array()) {
      names.push_back(std::string(device.at("device").as_string()));
    }
    return names;
  };
  apply("net", {entry("net.example.com", "eth0")});
  EXPECT_THAT(devices(apply("gpu", {entry("gpu.nvidia.com", "gpu-0"), entry("gpu.nvidia.com", "gpu-1")})),
              ElementsAre("eth0", "gpu-0", "gpu-1"));
  const auto last = apply("gpu", {entry("gpu.nvidia.com", "gpu-1", 2)});
  EXPECT_THAT(devices(last), ElementsAre("eth0", "gpu-1")) << "what a manager does not name any more goes";
  EXPECT_EQ(last.json().at("status").at("devices").at(1).at("data").at("x"), 2);
  EXPECT_EQ(apply("gpu", {entry("gpu.nvidia.com", "gpu-7")}).status, 422) << "it is not allocated";
}

TEST_F(ApiServerTest, ListsAndDeletesByField) {
  RawClient client(*server);
  for (const std::string_view name : {"a1", "a2"}) client.Do("POST", kSlices, Slice(name));
  client.Do("POST", kSlices, Slice("b1", "node-b"));
  const std::string mine =
      std::string(kSlices) + "?fieldSelector=spec.nodeName%3Dnode-a%2Cspec.driver%3Dgpu.nvidia.com";
  const json::Value list = client.Do("GET", mine).json();
  EXPECT_EQ(list.at("kind"), "ResourceSliceList");
  EXPECT_THAT(Names(list), ElementsAre("a1", "a2"));
  EXPECT_FALSE(list.at("items").at(0).as_object().contains("kind")) << "items of a list have no kind";
  EXPECT_EQ(client.Do("DELETE", mine).status, 200);
  EXPECT_THAT(Names(client.Do("GET", kSlices).json()), ElementsAre("b1"));
}

TEST_F(ApiServerTest, PagesShowOneMoment) {
  RawClient client(*server);
  for (const std::string_view name : {"a", "b", "c"}) client.Do("POST", kSlices, Slice(name));
  const json::Value first = client.Do("GET", std::string(kSlices) + "?limit=2").json();
  EXPECT_THAT(Names(first), ElementsAre("a", "b"));
  client.Do("DELETE", At("c"));
  client.Do("POST", kSlices, Slice("d"));
  const std::string next = Format("{}?limit=2&continue={}", kSlices, Meta(first, "continue"));
  const json::Value second = client.Do("GET", next).json();
  EXPECT_THAT(Names(second), ElementsAre("c"));
  EXPECT_EQ(Meta(second, "resourceVersion"), Meta(first, "resourceVersion"));
  server->ForgetHistory();
  EXPECT_EQ(client.Do("GET", next).status, 410);
}

TEST_F(ApiServerTest, WatchContinuesAListWithoutAGap) {
  RawClient client(*server), watcher(*server);
  client.Do("POST", kSlices, Slice("a"));
  const json::Value list = client.Do("GET", kSlices).json();
  client.Do("POST", kSlices, Slice("b"));
  client.Do("POST", kSlices, Slice("other", "node-b"));
  client.Do("PUT", At("a"), Slice("a", "node-a", 2));
  ASSERT_TRUE(watcher.Watch(Format("{}?watch=true&resourceVersion={}&fieldSelector=spec.nodeName%3Dnode-a", kSlices,
                                   Meta(list, "resourceVersion"))));
  EXPECT_EQ(watcher.NextEvent(), "ADDED b");
  EXPECT_EQ(watcher.NextEvent(), "MODIFIED a");
  client.Do("PUT", At("b"), Slice("b", "node-b"));
  EXPECT_EQ(watcher.NextEvent(), "DELETED b") << "it left the selection";
  client.Do("DELETE", At("a"));
  const json::Value last = json::ParseJson(watcher.NextLine()).value();
  EXPECT_EQ(last.at("type"), "DELETED");
  EXPECT_EQ(Meta(last.at("object"), "resourceVersion"), std::to_string(server->version()));
  server->EndWatches();
  EXPECT_EQ(watcher.NextLine(), "");
  EXPECT_EQ(watcher.Do("GET", "/version").status, 200) << "the connection is kept";
}

TEST_F(ApiServerTest, NoEventIsLostUnderConcurrentWrites) {
  constexpr int kWriters = 4, kEach = 25;
  RawClient watcher(*server);
  ASSERT_TRUE(watcher.Watch(Format("{}?watch=1&resourceVersion={}", kSlices, server->version())));
  std::vector<std::jthread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([this, w] {
      RawClient client(*server);
      for (int i = 0; i < kEach; ++i) EXPECT_EQ(client.Do("POST", kSlices, Slice(Format("s-{}-{}", w, i))).status, 201);
    });
  }
  std::uint64_t before = 0;
  for (int i = 0; i < kWriters * kEach; ++i) {
    const json::Value event = json::ParseJson(watcher.NextLine()).value();
    const auto version = ParseNumber<std::uint64_t>(Meta(event.at("object"), "resourceVersion")).value();
    EXPECT_GT(version, before);
    before = version;
  }
}

TEST_F(ApiServerTest, TooOldAWatchIsToldGone) {
  RawClient client(*server);
  server->SetHistory(2);
  const std::uint64_t version = server->version();
  for (const std::string_view name : {"a", "b", "c"}) client.Do("POST", kSlices, Slice(name));
  ASSERT_TRUE(client.Watch(Format("{}?watch=true&resourceVersion={}", kSlices, version)));
  EXPECT_EQ(client.NextEvent(), "ERROR 410");
  EXPECT_EQ(client.NextLine(), "");
  ASSERT_TRUE(client.Watch(Format("{}?watch=true&resourceVersion={}", kSlices, version + 1)));
  EXPECT_EQ(client.NextEvent(), "ADDED b");
  EXPECT_EQ(client.NextEvent(), "ADDED c");
  server->ForgetHistory();
  EXPECT_EQ(client.NextEvent(), "ERROR 410") << "a running watch as well";
}

TEST(ApiServer, BookmarksComeOnTimeAndAtTheEnd) {
  const auto server = ApiServer::Start({.bookmark_interval = 10ms}).value();
  RawClient client(*server);
  ASSERT_TRUE(
      client.Watch(std::string(kSlices) + "?watch=true&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=1"));
  EXPECT_EQ(client.NextEvent(), "BOOKMARK");
  std::string line = client.NextEvent();
  while (line == "BOOKMARK") line = client.NextEvent();
  EXPECT_EQ(line, "") << "timeoutSeconds ends the watch properly";
}

TEST_F(ApiServerTest, StatusIsASubresource) {
  RawClient client(*server);
  const json::Value claim = server->MakeClaim({.name = "c",
                                               .devices = {{.pool = "node-a", .device = "gpu-0"}},
                                               .configs = {{.parameters = {{"kind", "GpuConfig"}}}},
                                               .pod = "p"});
  const std::string path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c";
  EXPECT_EQ(client.Do("GET", path).json(), claim);
  EXPECT_EQ(claim.at_pointer("/status/allocation/devices/results/0/device"), "gpu-0");
  EXPECT_EQ(claim.at_pointer("/status/reservedFor/0/name"), "p");
  json::Value bare = claim;
  bare.as_object().erase("status");
  EXPECT_EQ(client.Do("PUT", path, bare).json(), claim) << "only /status changes the status";
  const json::Value patch{{"status", {{"devices", json::Array{json::Object{{"device", "gpu-0"}}}}}}};
  const json::Value patched = client.Do("PATCH", path + "/status", patch, "application/merge-patch+json").json();
  EXPECT_EQ(patched.at_pointer("/status/devices/0/device"), "gpu-0");
  EXPECT_EQ(patched.at_pointer("/status/reservedFor/0/name"), "p");
}

TEST_F(ApiServerTest, FinalizersDelayDeletion) {
  RawClient client(*server);
  server->MakeClaim({.name = "c"});
  const std::string path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c";
  const json::Value protect{{"metadata", {{"finalizers", json::Array{"resource.kubernetes.io/delete-protection"}}}}};
  ASSERT_TRUE(server->Patch(path, protect).has_value());
  EXPECT_EQ(client.Do("DELETE", path).status, 200);
  EXPECT_NE(Meta(client.Do("GET", path).json(), "deletionTimestamp"), "");
  ASSERT_TRUE(server->Patch(path, {{"metadata", {{"finalizers", nullptr}}}}).has_value());
  EXPECT_EQ(client.Do("GET", path).status, 404);
}

TEST_F(ApiServerTest, ServesOnlyTheVersionsAskedFor) {
  RawClient client(*server);
  server->SetVersions({"v1beta2", "v1beta1"});
  const json::Value group = client.Do("GET", "/apis/resource.k8s.io").json();
  EXPECT_EQ(group.at_pointer("/preferredVersion/version"), "v1beta2");
  EXPECT_THAT(group.at("versions").as_array(), SizeIs(2));
  const Reply missing = client.Do("GET", kSlices);
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, "404 page not found\n");
  server->SetVersions({});
  EXPECT_EQ(client.Do("GET", "/apis/resource.k8s.io").status, 404);
}

TEST_F(ApiServerTest, BetaOneKeepsDevicesUnderBasic) {
  RawClient client(*server);
  server->SetVersions({"v1", "v1beta1"});
  const std::string beta = "/apis/resource.k8s.io/v1beta1/resourceslices";
  json::Value slice = Slice("a");
  slice.as_object()["apiVersion"] = "resource.k8s.io/v1beta1";
  EXPECT_EQ(client.Do("POST", beta, slice).status, 201);
  EXPECT_FALSE(client.Do("GET", At("a")).json().at_pointer("/spec/devices/0").as_object().contains("attributes"))
      << "v1beta1 has no such field there: it is dropped";
  json::Object device{{"name", "gpu-0"}, {"basic", {{"attributes", {{"index", {{"int", 0}}}}}}}};
  slice.at("spec").as_object()["devices"] = json::Array{device};
  EXPECT_EQ(client.Do("PUT", beta + "/a", slice).json().at_pointer("/spec/devices/0/basic/attributes/index/int"), 0);
  EXPECT_EQ(client.Do("GET", At("a")).json().at_pointer("/spec/devices/0/attributes/index/int"), 0);
  EXPECT_EQ(client.Do("GET", beta).json().at_pointer("/items/0/spec/devices/0/basic/attributes/index/int"), 0);
}

TEST_F(ApiServerTest, HookPlaysAServerThatDropsFields) {
  RawClient client(*server);
  server->SetWriteHook([](Write& write) {
    for (json::Value& device : write.object["spec"].at("devices").as_array()) device.as_object().erase("taints");
    write.warnings.push_back("unknown field \"spec.devices[0].taints\"");
  });
  json::Value slice = Slice("a");
  slice.at_pointer("/spec/devices/0").as_object()["taints"] = json::Array{json::Object{{"key", "k"}}};
  const Reply reply = client.Do("POST", kSlices, slice);
  EXPECT_THAT(reply.body, Not(HasSubstr("taints")));
  EXPECT_THAT(reply.head, HasSubstr(R"(Warning: 299 - "unknown field \"spec.devices[0].taints\"")"));
}

TEST_F(ApiServerTest, TokensRotate) {
  RawClient old(*server);
  EXPECT_EQ(old.Do("GET", "/version").status, 200);
  server->SetToken("next");
  EXPECT_EQ(old.Do("GET", "/version").status, 401);
  EXPECT_EQ(RawClient(*server, "next").Do("GET", "/version").status, 200);
  EXPECT_EQ(RawClient(*server, "").Do("GET", "/version").status, 401);
  const Identity identity = server->IssueClient("system:node:a").value();
  EXPECT_EQ(RawClient(*server, "", &identity).Do("GET", "/version").status, 200) << "a certificate is enough";
}

TEST(ApiServer, CanDemandClientCertificates) {
  const auto server = ApiServer::Start({.client_certificates = ClientCertificates::kRequired}).value();
  const Identity identity = server->IssueClient("a").value();
  EXPECT_EQ(RawClient(*server, "", &identity).Do("GET", "/version").status, 200);
  EXPECT_EQ(RawClient(*server).Do("GET", "/version").status, 0);
}

TEST_F(ApiServerTest, CertificatesOfOthersAreNotTrusted) {
  const SslContext context = ClientContext(Authority::Create()->ca_pem()).value();
  TlsStream stream(ConnectLoopback(server->port()).value(), *context);
  EXPECT_FALSE(stream.Connect());
}

TEST_F(ApiServerTest, FaultsHitWhatTheyNameAsOftenAsTheySay) {
  server->MakeNode("n");
  server->faults().Add({.method = "GET", .path = "/nodes/n", .times = 2, .skip = 1, .status = 429, .retry_after = 7});
  RawClient client(*server);
  EXPECT_EQ(client.Do("GET", "/api/v1/nodes/n").status, 200);
  EXPECT_EQ(client.Do("GET", "/api/v1/nodes").status, 200);
  const Reply throttled = client.Do("GET", "/api/v1/nodes/n");
  EXPECT_EQ(throttled.status, 429);
  EXPECT_THAT(throttled.head, HasSubstr("Retry-After: 7\r\n"));
  EXPECT_EQ(throttled.json().at_pointer("/details/retryAfterSeconds"), 7);
  EXPECT_EQ(client.Do("GET", "/api/v1/nodes/n").status, 429);
  EXPECT_EQ(client.Do("GET", "/api/v1/nodes/n").status, 200);
}

TEST_F(ApiServerTest, FaultsBreakConnectionsInEveryWay) {
  server->MakeNode("n");
  for (const auto kind : {Fault::Kind::kClose, Fault::Kind::kCloseInBody, Fault::Kind::kGarbage}) {
    server->faults().Add({.kind = kind});
    RawClient client(*server);
    EXPECT_EQ(client.Do("GET", "/api/v1/nodes/n").status, 0);
    EXPECT_EQ(RawClient(*server).Do("GET", "/api/v1/nodes/n").status, 200);
  }
  for (const auto kind : {Fault::Kind::kDelay, Fault::Kind::kSlow}) {
    server->faults().Add({.kind = kind, .delay = 1ms});
    EXPECT_EQ(RawClient(*server).Do("GET", "/api/v1/nodes/n").status, 200);
  }
}

TEST_F(ApiServerTest, AnAnswerCanBeLostAfterTheEffect) {
  server->faults().Add({.method = "POST", .kind = Fault::Kind::kClose, .acts = true});
  EXPECT_EQ(RawClient(*server).Do("POST", kSlices, Slice("a")).status, 0);
  EXPECT_THAT(server->List(kSlices), SizeIs(1));
}

TEST_F(ApiServerTest, HangsUntilReleased) {
  const auto id = server->faults().Add({.path = "/version", .times = -1, .kind = Fault::Kind::kHang});
  RawClient first(*server), second(*server);
  first.Send("GET", "/version");
  second.Send("GET", "/version");
  ASSERT_TRUE(server->faults().WaitHanging(2, kPatience));
  EXPECT_EQ(RawClient(*server).Do("GET", "/healthz").status, 200);
  server->faults().Remove(id);
  EXPECT_EQ(first.Receive().status, 200);
  EXPECT_EQ(second.Receive().status, 200);
}

TEST_F(ApiServerTest, StopsWhileRequestsHangAndWatchesRun) {
  server->faults().Add({.path = "/version", .kind = Fault::Kind::kHang});
  RawClient hanging(*server), watching(*server);
  hanging.Send("GET", "/version");
  ASSERT_TRUE(watching.Watch(std::string(kSlices) + "?watch=true"));
  ASSERT_TRUE(server->faults().WaitHanging(1, kPatience));
  server.reset();
  EXPECT_EQ(hanging.Receive().status, 0);
  EXPECT_EQ(watching.NextLine(), "cut");
}

TEST_F(ApiServerTest, WatchesFailInTheMiddle) {
  RawClient client(*server), half(*server);
  server->faults().Add({.path = "watch=true", .kind = Fault::Kind::kWatchError, .status = 500});
  server->faults().Add({.path = "watch=true", .kind = Fault::Kind::kCloseInBody});
  ASSERT_TRUE(client.Watch(std::string(kSlices) + "?watch=true"));
  EXPECT_EQ(client.NextEvent(), "ERROR 500");
  EXPECT_EQ(client.NextLine(), "");
  ASSERT_TRUE(half.Watch(std::string(kSlices) + "?watch=true"));
  client.Do("POST", kSlices, Slice("a"));
  EXPECT_THAT(half.NextLine(), AllOf(HasSubstr("ADDED"), Not(HasSubstr("\n"))));
  EXPECT_EQ(half.NextLine(), "cut");
}

TEST_F(ApiServerTest, ComesBackAtTheSamePort) {
  server->MakeNode("n");
  const std::uint16_t port = server->port();
  RawClient before(*server);
  server->Pause();
  EXPECT_EQ(before.Do("GET", "/api/v1/nodes/n").status, 0);
  EXPECT_FALSE(ConnectLoopback(port).has_value());
  ASSERT_TRUE(server->Resume().has_value());
  EXPECT_EQ(server->port(), port);
  EXPECT_EQ(RawClient(*server).Do("GET", "/api/v1/nodes/n").status, 200);
}

TEST_F(ApiServerTest, RequestsCanBeWaitedFor) {
  std::jthread later(
      [this] { RawClient(*server).Do("POST", "/api/v1/namespaces/default/events", {{"metadata", {{"name", "e"}}}}); });
  const auto seen = server->seen().Wait(SeenLog::Is("POST", "/events"), kPatience);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->user_agent, "raw");
  EXPECT_THAT(seen->body, HasSubstr("\"e\""));
  EXPECT_TRUE(server->WaitObjects("/api/v1/events", [](const auto& items) { return items.size() == 1; }, kPatience));
  server->seen().Forget();
  EXPECT_THAT(server->seen().All(), IsEmpty());
  EXPECT_FALSE(server->seen().Wait(SeenLog::Is("", ""), 0ms).has_value());
}

TEST_F(ApiServerTest, KubeconfigAndServiceAccountNameTheServer) {
  const TempDir dir = TempDir::Create("standin").value();
  ASSERT_TRUE(server->WriteKubeconfig(dir.path() / "kubeconfig").has_value());
  const auto config = json::ParseYaml(ReadFile(dir.path() / "kubeconfig").value()).value().front();
  EXPECT_EQ(config.at_pointer("/clusters/0/cluster/server").as_string(), server->url());
  EXPECT_EQ(config.at_pointer("/users/0/user/token"), "standin-token");
  ASSERT_TRUE(server->WriteServiceAccount(dir.path()).has_value());
  EXPECT_EQ(ReadFile(dir.path() / "var/run/secrets/kubernetes.io/serviceaccount/ca.crt").value(), server->ca_pem());
}

}  // namespace
}  // namespace tessera::standin
