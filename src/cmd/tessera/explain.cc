#include "cmd/tessera/explain.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/tessera/exit_codes.h"
#include "inspect/explain.h"
#include "inspect/explain_cluster.h"
#include "inspect/explain_view.h"
#include "manifests/builtin_classes.h"

namespace tessera::cmd {
namespace {

constexpr const char* kExamples =
    R"(Says, for each node and device, what rules it out, and which change would make the claim or pod fit.
Changes are tried: each is made to a copy, and the allocator, which has kube-scheduler's rules, is asked again.

Examples:
  tessera explain pod train-0 -n team-a
  tessera explain claim train-gpus --context prod -o json
  kubectl get resourceslices,resourceclaims,nodes,deviceclasses -A -o yaml > cluster.yaml
  tessera explain claim -f claim.yaml --slices cluster.yaml

Without -f it asks the cluster of --kubeconfig, $KUBECONFIG, the pod it runs in, or ~/.kube/config. With -f it needs
none: a FILE may hold objects of any kind, "-" is standard input. Without DeviceClasses in them, those of the Helm chart
are there.

Exit codes: 0 fits, 1 does not fit, 2 usage or a file that cannot be read, 3 no cluster, 4 partial: something could not
be read.)";

// What a file holds, where -f names the only claim or pod of its kind.
Result<std::string> OnlyName(const manifests::Objects& objects, inspect::Target::Kind kind) {
  std::vector<std::string> names;
  if (kind == inspect::Target::Kind::kClaim) {
    for (const manifests::Claim& claim : objects.claims) names.push_back(claim.object.ref.name);
  } else {
    for (const manifests::Pod& pod : objects.pods) names.push_back(pod.name);
  }
  if (names.size() == 1) return names.front();
  const std::string what = kind == inspect::Target::Kind::kClaim ? "ResourceClaims" : "Pods";
  return BadConfig("NameNeeded", Format("the files of -f hold {} {}", names.size(), what), "give the NAME of one");
}

struct Input {
  manifests::Objects objects;
  inspect::Target target;
  inspect::ClusterFacts facts;
};

// The namespace of an object that was found by being the only one is its own.
void TakeNamespace(Input& input) {
  for (const manifests::Claim& claim : input.objects.claims) {
    if (claim.object.ref.name == input.target.name) input.target.namespace_name = claim.object.ref.namespace_name;
  }
  for (const manifests::Pod& pod : input.objects.pods) {
    if (pod.name == input.target.name) input.target.namespace_name = pod.namespace_name;
  }
}

Result<Input> ReadFiles(const ExplainOptions& options) {
  Input input{.target = options.target, .facts = {.version = options.release, .gates_unknown = "files do not say"}};
  input.objects.default_namespace = options.target.namespace_name;
  for (const std::string& file : options.files) TESSERA_TRY(manifests::ReadInto(input.objects, file));
  if (input.target.name.empty()) {
    TESSERA_ASSIGN(input.target.name, OnlyName(input.objects, input.target.kind));
    TakeNamespace(input);
  }
  for (const std::string& file : options.others) TESSERA_TRY(manifests::ReadInto(input.objects, file));
  if (input.objects.classes.empty()) {
    for (api::DeviceClass& builtin : manifests::BuiltinClasses()) {
      input.objects.classes.push_back({.origin = {}, .object = std::move(builtin)});
    }
  }
  return input;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As kubectl looks for it, but of several files in $KUBECONFIG only the first is read.
Result<kube::Access> FindCluster(const ExplainOptions& options) {
  std::string file = options.kubeconfig;
  if (file.empty()) {
    const std::string listed = Environment("KUBECONFIG");
    file = std::string(Split(listed, ':').front());
  }
  if (file.empty() && !Environment("KUBERNETES_SERVICE_HOST").empty()) return kube::InCluster();
  if (file.empty()) file = Environment("HOME") + "/.kube/config";
  return kube::FromKubeconfig({.path = file, .context = options.context, .exec = kube::ExecPlugins::kRun});
}

Result<Input> ReadFromCluster(const ExplainOptions& options) {
  TESSERA_ASSIGN(kube::Access access, FindCluster(options));
  TESSERA_ASSIGN(const auto client,
                 kube::Client::Create({.access = std::move(access), .user_agent = Format("tessera/{}", kVersion)}));
  TESSERA_ASSIGN(inspect::ClusterState state, inspect::ReadCluster(*client, options.target));
  return Input{.objects = std::move(state.objects), .target = options.target, .facts = std::move(state.facts)};
}

int ExitCode(const inspect::Explanation& explanation) {
  if (!explanation.cluster.gaps.empty()) return kExitPartial;
  return explanation.fits ? kExitFine : kExitProblem;
}

}  // namespace

void AddExplain(CLI::App& app, ExplainOptions& options) {
  static const std::map<std::string, inspect::Target::Kind> kKinds{{"claim", inspect::Target::Kind::kClaim},
                                                                   {"pod", inspect::Target::Kind::kPod}};
  static const std::map<std::string, bool> kFormats{{"text", false}, {"json", true}};
  CLI::App* explain = app.add_subcommand("explain", "Say why a claim or a pod gets no devices, and what would help");
  explain->footer(kExamples);
  explain->add_option("KIND", options.target.kind, "claim or pod")
      ->required()
      ->transform(CLI::CheckedTransformer(kKinds).description(""))
      ->type_name("");
  CLI::Option* name = explain->add_option("NAME", options.target.name, "Its name; with -f, when there are several");
  name->type_name("");
  explain->add_option("-n,--namespace", options.target.namespace_name, "Its namespace")
      ->type_name("NAMESPACE")
      ->capture_default_str();
  CLI::Option* files = explain->add_option("-f,--filename", options.files, "Read the claim or pod from FILE");
  files->type_name("FILE")->allow_extra_args(false);
  for (const char* flag : {"--slices", "--claims", "--nodes", "--classes"}) {
    explain
        ->add_option_function<std::vector<std::string>>(
            flag,
            [&options](const std::vector<std::string>& given) {
              options.others.insert(options.others.end(), given.begin(), given.end());
            },
            "With -f: more objects from FILE")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->needs(files);
  }
  explain->add_option("--release", options.release, "With -f: the Kubernetes release whose rules hold")
      ->type_name("RELEASE")
      ->check(CLI::IsMember({"1.34", "1.35", "1.36", "1.37"}).description(""))
      ->capture_default_str()
      ->needs(files);
  explain
      ->add_option("--kubeconfig", options.kubeconfig, "How to reach the cluster; default: $KUBECONFIG, ~/.kube/config")
      ->type_name("FILE")
      ->excludes(files);
  explain->add_option("--context", options.context, "The context of the kubeconfig; default: its current one")
      ->type_name("NAME")
      ->excludes(files);
  explain->add_option("-o,--output", options.json, "text or json")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->type_name("FORMAT");
  explain->final_callback([&options] {
    if (options.target.name.empty() && options.files.empty()) throw CLI::RequiredError("NAME");
  });
}

int RunExplain(const ExplainOptions& options) {
  const bool offline = !options.files.empty();
  const auto input = offline ? ReadFiles(options) : ReadFromCluster(options);
  if (!input.has_value()) {
    Fail(input.error());
    return offline ? kExitUsage : kExitNoCluster;
  }
  const auto explanation = inspect::Explain(input->objects, input->target, input->facts);
  if (!explanation.has_value()) return Fail(explanation.error());
  const std::string text =
      options.json ? json::PrintJson(inspect::ToJson(*explanation), 2) + "\n" : inspect::ToText(*explanation);
  if (const auto written = WriteAll(fileno(stdout), text); !written.has_value()) return Fail(written.error());
  return ExitCode(*explanation);
}

}  // namespace tessera::cmd
