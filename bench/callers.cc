#include "bench/callers.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <proto/dra_v1.grpc.pb.h>
#include <unistd.h>

#include <algorithm>
#include <latch>
#include <thread>

#include "base/fd.h"
#include "base/text.h"
#include "kube/client.h"

namespace tessera::bench {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;
using tests::Kubelet;

constexpr std::chrono::seconds kTimeout{45};  // The kubelet's.
constexpr std::size_t kRecordSize = 600;      // Of a claim with one GPU, as the journal writes it.

std::unique_ptr<kube::Client> Connect(const std::filesystem::path& kubeconfig) {
  auto access = kube::FromKubeconfig({.path = kubeconfig});
  if (!access) Abort(access.error().Text());
  auto client = kube::Client::Create({.access = *std::move(access), .user_agent = "plugin_bench"});
  if (!client) Abort(client.error().Text());
  return *std::move(client);
}

std::shared_ptr<grpc::Channel> Dial(const std::filesystem::path& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // A connection of its own.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials(), arguments);
}

template <class Request, class Response>
void Call(dra::DRAPlugin::Stub& stub,
          grpc::Status (dra::DRAPlugin::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
          const Kubelet::Claim* claim) {
  Request request;
  if (claim != nullptr) {
    auto& out = *request.add_claims();
    out.set_namespace_(claim->namespace_name);
    out.set_name(claim->name);
    out.set_uid(claim->uid);
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kTimeout);
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) Abort("a call failed: " + status.error_message());
  for (const auto& [uid, answer] : response.claims()) {
    if (!answer.error().empty()) Abort("a claim failed: " + answer.error());
  }
}

}  // namespace

double Samples::Percentile(double percent) const {
  if (micros_.empty()) return 0;
  std::vector<double> sorted = micros_;
  std::ranges::sort(sorted);
  const auto rank = static_cast<std::size_t>(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::min(rank, sorted.size() - 1)];
}

struct Caller::Parts {
  std::unique_ptr<kube::Client> api;
  UniqueFd file;
  dra::DRAPlugin::Stub plugin;
};

Caller::Caller(const Places& places)
    : parts_(new Parts{.api = Connect(places.kubeconfig),
                       .file = UniqueFd(::open(places.append_file.c_str(),
                                               O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)),
                       .plugin = dra::DRAPlugin::Stub(Dial(places.socket))}) {
  if (!parts_->file) Abort("cannot write " + places.append_file.string());
}
Caller::~Caller() = default;
Caller::Caller(Caller&&) noexcept = default;

void Caller::GetObject(const std::string& path) {
  const kube::Call call{.deadline = std::chrono::steady_clock::now() + kTimeout, .lane = kube::Lane::kUrgent};
  if (const auto object = parts_->api->Get(path, call); !object) Abort(object.error().Text());
}

void Caller::AppendAndSync() {
  static const std::string record(kRecordSize, 'x');
  if (!WriteAll(parts_->file.get(), record) || ::fdatasync(parts_->file.get()) != 0) Abort("cannot append");
}

void Caller::CallEmpty() { Call(parts_->plugin, &dra::DRAPlugin::Stub::NodePrepareResources, nullptr); }

void Caller::Prepare(const Kubelet::Claim& claim) {
  Call(parts_->plugin, &dra::DRAPlugin::Stub::NodePrepareResources, &claim);
}

void Caller::Unprepare(const Kubelet::Claim& claim) {
  Call(parts_->plugin, &dra::DRAPlugin::Stub::NodeUnprepareResources, &claim);
}

void AllAtOnce(std::vector<Caller>& callers, const std::function<void(std::size_t, Caller&)>& work) {
  std::latch start(static_cast<std::ptrdiff_t>(callers.size()));
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < callers.size(); ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i, callers[i]);
    });
  }
}

}  // namespace tessera::bench
