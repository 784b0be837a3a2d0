#include "kube/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>

#include "base/text.h"
#include "net/test_peer.h"

namespace tessera::kube {
namespace {

using net::PeerConnection;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// What the server does with one list or watch: `send`, then it ends, hangs, or drops the connection.
struct Turn {
  enum class Then : std::uint8_t { kEnd, kHang, kDrop };
  int status = 200;
  std::string body = {};  // Lines when it is a watch.
  Then then = Then::kEnd;
};

std::string Item(std::string_view name, int version) {
  return Format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name, version);
}
std::string Event(std::string_view type, std::string_view name, int version) {
  return Format("{{\"type\":\"{}\",\"object\":{}}}\n", type, Item(name, version));
}
std::string ErrorEvent(int code) {
  return Format("{{\"type\":\"ERROR\",\"object\":{{\"kind\":\"Status\",\"code\":{},\"message\":\"told so\"}}}}\n",
                code);
}
std::string ListOf(std::string_view items, int version, std::string_view next = {}) {
  return Format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})", version, next, items);
}

class FakeCollection {
 public:
  explicit FakeCollection(std::vector<Turn> turns)
      : turns_(std::move(turns)), peer_([this](PeerConnection& peer) { Serve(peer); }) {}

  net::Endpoint endpoint() const { return peer_.endpoint(); }
  std::vector<std::string> targets() {  // Of lists and watches.
    const std::lock_guard lock(mutex_);
    return targets_;
  }

 private:
  void Serve(PeerConnection& peer) {
    while (const auto request = peer.ReadRequest()) {
      const std::string target(Split(*request, ' ')[1]);
      if (target == "/apis/resource.k8s.io") {
        peer.Respond(R"({"versions":[{"version":"v1"}]})");
        continue;
      }
      if (!Play(peer, NextTurn(target), target.contains("watch=true"))) return;
    }
  }

  Turn NextTurn(const std::string& target) {
    const std::lock_guard lock(mutex_);
    targets_.push_back(target);
    return targets_.size() <= turns_.size() ? turns_[targets_.size() - 1] : Turn{.then = Turn::Then::kHang};
  }

  static bool Play(PeerConnection& peer, const Turn& turn, bool watch) {
    if (turn.status != 200 || !watch) {
      peer.Respond(turn.body, turn.status);
      return true;
    }
    peer.Send(net::kChunkedHead);
    if (!turn.body.empty()) peer.Chunk(turn.body);
    if (turn.then == Turn::Then::kHang) peer.WaitForEnd();
    if (turn.then == Turn::Then::kEnd) peer.Send("0\r\n\r\n");
    return turn.then == Turn::Then::kEnd;
  }

  std::mutex mutex_;  // Guards targets_.
  std::vector<std::string> targets_;
  const std::vector<Turn> turns_;
  net::TestPeer peer_;
};

// Writes down what a watch reports: "list a b", "added c", "error ApiForbidden".
class Log {
 public:
  WatchHandlers handlers() {
    return {.on_list =
                [this](std::vector<json::Value> items) {
                  std::string line = "list";
                  for (const json::Value& item : items) line += " " + NameOf(item);
                  Add(line);
                },
            .on_change =
                [this](Change change, const json::Value& object) {
                  constexpr std::array kNames{"added ", "modified ", "deleted "};
                  Add(kNames[static_cast<std::size_t>(change)] + NameOf(object));
                },
            .on_error = [this](const Error& error) { Add("error " + std::string(error.code())); }};
  }

  // The first `count` lines, or what there is after a long time.
  std::vector<std::string> Wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, seconds(30), [&] { return lines_.size() >= count; });
    return lines_;
  }

 private:
  static std::string NameOf(const json::Value& object) {
    return std::string(object.at("metadata").at("name").as_string());
  }
  void Add(std::string line) {
    {
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::move(line));
    }
    changed_.notify_all();
  }

  std::mutex mutex_;  // Guards lines_.
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

class WatchTest : public ::testing::Test {
 protected:
  void Start(std::vector<Turn> turns, seconds quiet = seconds(60)) {
    server_.emplace(std::move(turns));
    client_ =
        std::move(Client::Create({.access = {.endpoint = server_->endpoint()}, .qps = 1000, .burst = 1000})).value();
    api_.emplace(*client_);
    watch_.emplace(*client_, *api_,
                   WatchOptions{.resource = "resourceslices",
                                .field_selector = "spec.nodeName=a",
                                .backoff_from = milliseconds(1),
                                .backoff_to = milliseconds(20),
                                .quiet = quiet},
                   log_.handlers());
  }
  // The targets of lists and watches, once there are so many.
  std::vector<std::string> Targets(std::size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(30);
    while (server_->targets().size() < count && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return server_->targets();
  }

  Log log_;
  std::optional<FakeCollection> server_;
  std::unique_ptr<Client> client_;
  std::optional<ResourceApi> api_;
  std::optional<Watch> watch_;
};

TEST_F(WatchTest, ListsThenFollows) {
  Start({{.body = ListOf(Item("a", 5), 7)},
         {.body = Event("ADDED", "b", 8) + Event("BOOKMARK", "", 9) + Event("MODIFIED", "a", 10) +
                  Event("DELETED", "b", 11) + Event("SOMETHING_NEW", "x", 12),
          .then = Turn::Then::kHang}});
  EXPECT_THAT(log_.Wait(4), ElementsAre("list a", "added b", "modified a", "deleted b"));
  const auto targets = Targets(2);
  EXPECT_EQ(targets[0], "/apis/resource.k8s.io/v1/resourceslices?limit=500&fieldSelector=spec.nodeName%3Da");
  EXPECT_THAT(targets[1], AllOf(HasSubstr("?watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds="),
                                HasSubstr("&fieldSelector=spec.nodeName%3Da")));
  const auto timeout = Cut(Cut(targets[1], "timeoutSeconds=")->second, "&")->first;
  EXPECT_GE(ParseNumber<int>(timeout).value(), 150);
  EXPECT_LE(ParseNumber<int>(timeout).value(), 300);
  EXPECT_EQ(watch_->relists(), 0U);
  EXPECT_EQ(watch_->failures(), 0U);
}

TEST_F(WatchTest, GoesOnWhereAStreamEnded) {
  Start({{.body = ListOf("", 7)},
         {.body = Event("ADDED", "a", 8)},
         {.body = Event("BOOKMARK", "", 20)},
         {.body = Event("ADDED", "b", 21), .then = Turn::Then::kDrop},
         {.then = Turn::Then::kEnd},
         {.body = Event("ADDED", "c", 22), .then = Turn::Then::kHang}});
  EXPECT_THAT(log_.Wait(4), ElementsAre("list", "added a", "added b", "added c"));
  const auto targets = Targets(6);
  EXPECT_THAT(targets[2], HasSubstr("resourceVersion=8&"));
  EXPECT_THAT(targets[3], HasSubstr("resourceVersion=20&"));
  EXPECT_THAT(targets[4], HasSubstr("resourceVersion=21&"));
  EXPECT_EQ(watch_->failures(), 0U);
}

TEST_F(WatchTest, ListsAnewWhenItsVersionIsTooOld) {
  Start({{.body = ListOf(Item("a", 5), 7)},
         {.status = 410, .body = "{}"},
         {.body = ListOf(Item("b", 5), 9)},
         {.body = Event("ADDED", "c", 10) + ErrorEvent(410)},
         {.body = ListOf(Item("d", 11), 11)}});
  EXPECT_THAT(log_.Wait(4), ElementsAre("list a", "list b", "added c", "list d"));
  EXPECT_THAT(Targets(6)[5], HasSubstr("resourceVersion=11&"));
  EXPECT_EQ(watch_->relists(), 2U);
  EXPECT_EQ(watch_->failures(), 0U);
}

TEST_F(WatchTest, PutsPagesTogether) {
  Start({{.body = ListOf(Item("a", 1), 7, "t 1")},
         {.body = ListOf(Item("b", 2), 7, "t2")},
         {.body = ListOf(Item("c", 3), 7)}});
  EXPECT_THAT(log_.Wait(1), ElementsAre("list a b c"));
  const auto targets = Targets(4);
  EXPECT_THAT(targets[0], Not(HasSubstr("continue")));
  EXPECT_THAT(targets[1], HasSubstr("?limit=500&continue=t%201&"));
  EXPECT_THAT(targets[2], HasSubstr("&continue=t2&"));
  EXPECT_THAT(targets[3], HasSubstr("resourceVersion=7&"));
}

TEST_F(WatchTest, StartsAnewWhenAPageExpires) {
  Start({{.body = ListOf(Item("a", 1), 7, "t1")}, {.status = 410, .body = "{}"}, {.body = ListOf(Item("b", 9), 9)}});
  EXPECT_THAT(log_.Wait(1), ElementsAre("list b"));
  EXPECT_THAT(Targets(3)[2], Not(HasSubstr("continue")));
  EXPECT_EQ(watch_->relists(), 0U);
}

TEST_F(WatchTest, ReportsARunOfFailuresOnce) {
  const Turn forbidden{.status = 403, .body = "{}"};
  Start({forbidden,
         forbidden,
         forbidden,
         {.body = ListOf("", 7)},
         {.status = 500, .body = "{}"},
         {.body = ErrorEvent(500)},
         {.body = "not JSON\n"},
         {.body = ListOf("", 8)},
         {.body = Event("ADDED", "a", 9)},
         forbidden});
  EXPECT_THAT(log_.Wait(6), ElementsAre("error ApiForbidden", "list", "error ApiServerError", "list", "added a",
                                        "error ApiForbidden"));
  EXPECT_EQ(watch_->failures(), 7U);
}

TEST_F(WatchTest, BacksOffWhenEveryVersionIsTooOld) {
  const Turn gone{.status = 410, .body = "{}"};
  const Turn list{.body = ListOf("", 7)};
  Start({list, gone, list, gone, list, gone, list, {.body = Event("ADDED", "a", 8), .then = Turn::Then::kHang}});
  EXPECT_THAT(log_.Wait(6), ElementsAre("list", "list", "error ApiGone", "list", "list", "added a"));
}

TEST_F(WatchTest, TakesSilenceForDeath) {
  Start({{.body = ListOf("", 7)},
         {.then = Turn::Then::kHang},
         {.body = Event("ADDED", "a", 8), .then = Turn::Then::kHang}},
        seconds(1));
  EXPECT_EQ(log_.Wait(3)[1], "error HttpTimeout");
  EXPECT_EQ(log_.Wait(3)[2], "added a");
}

TEST_F(WatchTest, AsksForTheVersionAgainWhenItsPathIsGone) {
  Start({{.status = 404, .body = "{}"}, {.body = ListOf(Item("a", 1), 7)}});
  EXPECT_THAT(log_.Wait(2), ElementsAre("error ApiNotFound", "list a"));
}

}  // namespace
}  // namespace tessera::kube
