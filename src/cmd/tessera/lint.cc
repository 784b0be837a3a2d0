#include "cmd/tessera/lint.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "cmd/tessera/exit_codes.h"
#include "lint/lint.h"
#include "lint/live_devices.h"
#include "manifests/manifest.h"

namespace tessera::cmd {
namespace {

constexpr const char* kExamples = R"(Examples:
  tessera lint claim.yaml pod.yaml             against the API's rules, CEL and our configs
  tessera lint --k8s 1.35 manifests/           all manifests of a directory, for that release
  kubectl get resourceslices -o yaml | tessera lint --slices - claim.yaml
                                               and against the devices of the cluster
  helm template CHART | tessera lint -

Exit codes: 0 no errors, 1 errors found, 2 usage.)";

namespace fs = std::filesystem;

// What `kubectl apply -f DIRECTORY` takes, in its order.
std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string extension = entry.path().extension();
    const bool is_manifest = extension == ".yaml" || extension == ".yml" || extension == ".json";
    if (is_manifest && entry.is_regular_file(error)) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

struct Input {
  std::vector<manifests::Manifest> objects;
  std::vector<lint::Finding> unreadable;
};

// For a file that is no YAML.
Error WithAdvice(const std::string& file, Error error) {
  const auto text = file == "-" ? Result<std::string>("") : ReadFile(file);
  if (!text || !text->contains("{{")) return error;
  return {error.kind(), error.code(), error.message(), "this is a template: render it first (helm template)"};
}

void ReadOne(const std::string& file, Input& input) {
  auto read = manifests::SortManifests(file);
  if (!read) {
    const std::string name = file == "-" ? "standard input" : file;
    input.unreadable.push_back(lint::Unreadable({.file = name}, WithAdvice(file, std::move(read).error())));
    return;
  }
  std::ranges::move(read->manifests, std::back_inserter(input.objects));
  for (const auto& [origin, error] : read->misfits) input.unreadable.push_back(lint::Unreadable(origin, error));
}

Input ReadAll(const std::vector<std::string>& names) {
  Input input;
  for (const std::string& name : names) {
    std::error_code error;
    const auto files = fs::is_directory(name, error) ? FilesIn(name) : std::vector{name};
    for (const std::string& file : files) ReadOne(file, input);
    if (files.empty()) {
      input.unreadable.push_back(lint::Unreadable(
          {.file = name}, {ErrorKind::kPermanentConfig, "NoManifests", "no .yaml, .yml or .json file in this directory",
                           "directories below it are not looked into; name them"}));
    }
  }
  return input;
}

Result<lint::LiveDevices> ReadSlices(const std::string& file) {
  TESSERA_ASSIGN(const auto objects, manifests::ReadManifests(file));
  TESSERA_ASSIGN(auto devices, lint::LiveDevices::From(objects));
  if (devices.devices.empty()) {
    return BadConfig("NoDevices", Format("{} holds no ResourceSlice with devices", file),
                     "kubectl get resourceslices -o yaml");
  }
  return devices;
}

}  // namespace

void AddLint(CLI::App& app, LintOptions& options) {
  CLI::App* command = app.add_subcommand("lint", "Check claims, templates, classes, pods and workloads in files");
  command->footer(kExamples);
  command->add_option("FILE", options.files, "Manifests; a directory, or - for standard input")->required();
  command->add_option("--k8s", options.release, "The release of Kubernetes: 1.34 to 1.37")
      ->type_name("RELEASE")
      ->capture_default_str()
      ->check(CLI::Validator(
          [](const std::string& release) {
            return lint::ParseRelease(release) ? "" : release + " is not one of 1.34, 1.35, 1.36, 1.37";
          },
          ""));
  command->add_option("--slices", options.slices, "Also match selectors with the devices of these ResourceSlices")
      ->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "-o,--output", [&](const std::string& format) { options.as_json = format == "json"; }, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
}

int RunLint(const LintOptions& options) {
  if (options.slices == "-" && std::ranges::find(options.files, std::string("-")) != options.files.end()) {
    std::fputs("tessera: standard input can hold the slices or the manifests, not both\n", stderr);
    return kExitUsage;
  }
  std::optional<lint::LiveDevices> devices;
  if (!options.slices.empty()) {
    auto read = ReadSlices(options.slices);
    if (!read) return Fail(read.error());
    devices = *std::move(read);
  }
  const Input input = ReadAll(options.files);
  lint::Report report = lint::Lint(input.objects, {.release = lint::ParseRelease(options.release).value(),
                                                   .devices = devices ? &*devices : nullptr});
  report.findings.insert(report.findings.begin(), input.unreadable.begin(), input.unreadable.end());
  const std::string text = options.as_json ? lint::ToJson(report) : lint::ToText(report);
  if (const auto written = WriteAll(fileno(stdout), text); !written) return Fail(written.error());
  return lint::HasErrors(report) ? kExitProblem : kExitFine;
}

}  // namespace tessera::cmd
