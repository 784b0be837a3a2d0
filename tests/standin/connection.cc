#include "tests/standin/connection.h"

#include <algorithm>

#include "base/text.h"
#include "tests/standin/status.h"

namespace tessera::standin {
namespace {

using std::chrono::steady_clock;

// How soon a watch without news notices that its client went away.
constexpr std::chrono::milliseconds kPeerCheck{500};

std::string Line(std::string_view type, std::string_view object) {
  return Format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

// What an event means to a watch with a selector: an object that stops matching is deleted as far as it knows.
std::string EventLine(const WatchPlan& plan, const Event& event) {
  const bool was = event.before && plan.selector.Matches(event.before->value);
  const bool is = event.after && plan.selector.Matches(event.after->value);
  if (is) return Line(was ? "MODIFIED" : "ADDED", Shown(plan.target, *event.after));
  if (!was) return {};
  Stored last = *event.before;
  last.value.at("metadata").as_object()["resourceVersion"] = std::to_string(event.version);
  last.text = json::PrintJson(last.value);
  return Line("DELETED", Shown(plan.target, last));
}

Answer FaultAnswer(const Fault& fault) {
  const std::string message = fault.status == 429
                                  ? "the server has received too many requests and has asked us to try again later"
                                  : Format("scripted failure {}", fault.status);
  Answer answer{.status = fault.status,
                .body = json::PrintJson(StatusObject(fault.status, message, {}, fault.retry_after))};
  if (fault.retry_after > 0) answer.headers.push_back({"Retry-After", std::to_string(fault.retry_after)});
  return answer;
}

}  // namespace

void Connection::Serve() {
  if (!stream_.Accept()) return;
  RequestReader reader(stream_);
  while (const auto request = reader.Next()) {
    shared_.seen.Add(*request);
    const auto taken = shared_.faults.Take(*request);
    if (!(taken ? RespondBadly(*request, *taken) : Respond(*request)) || stop_.stop_requested()) return;
    if (request->header("connection") == "close") return stream_.Close();
  }
}

Answer Connection::Handle(const Request& request) {
  if (!stream_.peer_has_certificate() && !shared_.authorized(request.header("authorization"))) {
    return Refuse(401, "Unauthorized");
  }
  return shared_.api.Handle(request, Caller::kClient);
}

bool Connection::Respond(const Request& request) {
  if (Api::IsWatch(request)) return Watch(request, nullptr);
  return stream_.Write(Print(Handle(request)));
}

bool Connection::RespondBadly(const Request& request, const Faults::Taken& taken) {
  const Fault& fault = taken.fault;
  const bool watch = Api::IsWatch(request);
  std::string answer;
  if (fault.acts && !watch) answer = Print(Handle(request));
  switch (fault.kind) {
    case Fault::Kind::kStatus:
      return stream_.Write(Print(FaultAnswer(fault)));
    case Fault::Kind::kWatchError:
      return watch ? Watch(request, &fault) : stream_.Write(Print(FaultAnswer(fault)));
    case Fault::Kind::kHang:
      shared_.faults.Hang(taken.id, stop_);
      if (stop_.stop_requested()) return false;
      return answer.empty() ? Respond(request) : stream_.Write(answer);
    case Fault::Kind::kDelay:
      shared_.faults.Pause(fault.delay, stop_);
      return !stop_.stop_requested() && Respond(request);
    case Fault::Kind::kClose:
      break;
    case Fault::Kind::kCloseInBody: {
      if (watch) return Watch(request, &fault);
      const Answer whole = Handle(request);
      const std::string text = Print(whole);
      stream_.Write(std::string_view(text).substr(0, text.size() - (whole.body.size() + 1) / 2));
      break;
    }
    case Fault::Kind::kGarbage:
      stream_.Write("\x16\x03\x01 this is not HTTP \xff\xfe\r\n\r\n{]");
      break;
    case Fault::Kind::kSlow: {
      const std::string text = Print(Handle(request));
      for (const char& byte : text) {
        if (stop_.stop_requested() || !stream_.Write({&byte, 1})) return false;
        shared_.faults.Pause(fault.delay, stop_);
      }
      return true;
    }
  }
  stream_.Break();
  return false;
}

bool Connection::Watch(const Request& request, const Fault* fault) {
  if (!stream_.peer_has_certificate() && !shared_.authorized(request.header("authorization"))) {
    return stream_.Write(Print(Refuse(401, "Unauthorized")));
  }
  const auto plan = shared_.api.PlanWatch(request);
  if (!plan) return stream_.Write(Print(plan.error()));
  if (!stream_.Write(PrintHead(200, "application/json", {}, "Transfer-Encoding: chunked"))) return false;
  if (fault && fault->kind == Fault::Kind::kWatchError) {
    const json::Value status = StatusObject(fault->status, Format("scripted failure {}", fault->status));
    return SendLine(Line("ERROR", json::PrintJson(status)), false) && stream_.Write(kLastChunk);
  }
  return SendEvents(*plan, fault != nullptr) && stream_.Write(kLastChunk);
}

// True when the watch ended as it should, with everything but the last chunk sent.
bool Connection::SendEvents(const WatchPlan& plan, bool half) {
  for (const ObjectRef& object : plan.initial) {
    if (!SendLine(Line("ADDED", Shown(plan.target, *object)), half)) return false;
  }
  const std::uint64_t epoch = shared_.store.epoch();
  const auto end = plan.timeout.count() > 0 ? steady_clock::now() + plan.timeout : steady_clock::time_point::max();
  auto bookmark = steady_clock::now() + shared_.bookmark_interval;
  std::uint64_t version = plan.version;
  while (!stop_.stop_requested() && !stream_.PeerIsGone()) {
    const auto until = std::min({end, bookmark, steady_clock::now() + kPeerCheck});
    const Store::News news = shared_.store.Wait(plan.target.key, version, epoch, stop_, until);
    if (news.expired) {
      return SendLine(Line("ERROR", json::PrintJson(WatchTooOld(version, news.version))), half);
    }
    for (const Event& event : news.events) {
      const std::string line = EventLine(plan, event);
      if (!line.empty() && !SendLine(line, half)) return false;
    }
    version = std::max(version, news.version);
    const bool over = news.ended || steady_clock::now() >= end;
    if (plan.bookmarks && (over || steady_clock::now() >= bookmark) && !SendBookmark(plan, version)) return false;
    if (over) return true;
    if (steady_clock::now() >= bookmark) bookmark = steady_clock::now() + shared_.bookmark_interval;
  }
  return false;
}

bool Connection::SendLine(std::string_view line, bool half) {
  if (!half) return stream_.Write(Chunk(line));
  // The chunk is complete, the line in it is not.
  stream_.Write(Chunk(line.substr(0, line.size() / 2)));
  stream_.Break();
  return false;
}

bool Connection::SendBookmark(const WatchPlan& plan, std::uint64_t version) {
  const json::Object metadata{{"resourceVersion", std::to_string(version)}, {"creationTimestamp", nullptr}};
  const json::Object object{
      {"kind", KindOf(plan.target.key.resource)}, {"apiVersion", plan.target.api_version()}, {"metadata", metadata}};
  return SendLine(Line("BOOKMARK", json::PrintJson(object)), false);
}

}  // namespace tessera::standin
