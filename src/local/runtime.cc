#include "local/runtime.h"

#include <array>

#include "base/text.h"

namespace tessera::local {
namespace {

struct Name {
  Runtime runtime;
  std::string_view text;
};
constexpr std::array kNames{Name{Runtime::kNone, "none"},     Name{Runtime::kCrun, "crun"},
                            Name{Runtime::kRunc, "runc"},     Name{Runtime::kPodman, "podman"},
                            Name{Runtime::kDocker, "docker"}, Name{Runtime::kNerdctl, "nerdctl"},
                            Name{Runtime::kCtr, "ctr"}};

std::vector<Runtime> Candidates(const Choice& choice) {
  if (const auto named = ParseRuntime(choice.wanted)) return {*named};
  if (choice.wanted == "containerd") return {Runtime::kNerdctl, Runtime::kCtr};
  if (choice.has_image) return {Runtime::kPodman, Runtime::kDocker, Runtime::kNerdctl, Runtime::kCtr};
  if (!choice.has_nodes) return {Runtime::kNone};
  if (choice.unified_cgroups) return {Runtime::kCrun, Runtime::kRunc, Runtime::kNone};
  return {Runtime::kRunc, Runtime::kCrun, Runtime::kNone};
}

bool HasDaemon(Runtime runtime) { return runtime > Runtime::kPodman; }

void Append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::string_view ToText(Runtime runtime) { return kNames.at(static_cast<std::size_t>(runtime)).text; }

std::optional<Runtime> ParseRuntime(std::string_view text) {
  for (const Name& name : kNames) {
    if (name.text == text) return name.runtime;
  }
  return std::nullopt;
}

bool TakesImage(Runtime runtime) { return runtime >= Runtime::kPodman; }

Result<Runtime> ChooseRuntime(const Choice& choice, const std::function<std::string(const std::string&)>& find) {
  std::vector<std::string> tried;
  for (const Runtime candidate : Candidates(choice)) {
    const std::string name(ToText(candidate));
    if (choice.has_image && !TakesImage(candidate)) {
      return BadConfig("ImageNotWanted", Format("--runtime {} runs without an image", name),
                       "leave out --image, or use podman, docker or containerd");
    }
    if (!choice.has_image && TakesImage(candidate)) {
      return BadConfig("ImageWanted", Format("{} needs an image", name),
                       "name one with --image, or use --runtime crun, runc or none");
    }
    if (candidate != Runtime::kNone && find(name).empty()) {
      tried.push_back(name);
      continue;
    }
    if (HasDaemon(candidate) && !choice.specs_are_public) {
      return BadConfig("SpecsNotPublic", Format("{} does not look where your CDI files are", name),
                       "use podman, be root, or name with --cdi-dir a directory of yours that its daemon reads");
    }
    return candidate;
  }
  return BadConfig("NoRuntime", Format("not installed: {}", Join(tried, ", ")),
                   choice.has_image ? "install podman, or another with --runtime"
                                    : "install it, or use --runtime none: a process without isolation");
}

std::vector<std::string> ImageArguments(Runtime runtime, const ImageRun& run) {
  std::vector<std::string> arguments{std::string(ToText(runtime)), "run", "--rm"};
  if (runtime != Runtime::kCtr) {
    Append(arguments, {"--name", run.name, "--interactive"});
    if (run.has_terminal) arguments.emplace_back("--tty");
  } else if (run.has_terminal) {
    arguments.emplace_back("--tty");
  }
  for (const std::string& device : run.devices) Append(arguments, {"--device", device});
  Append(arguments, run.flags);
  Append(arguments, run.options);
  arguments.push_back(run.image);
  if (runtime == Runtime::kCtr) arguments.push_back(run.name);
  Append(arguments, run.command);
  return arguments;
}

std::vector<std::string> BundleArguments(Runtime runtime, const std::filesystem::path& root,
                                         const std::filesystem::path& bundle, const std::string& name) {
  return {std::string(ToText(runtime)), "--root", root.string(), "run", "--bundle", bundle.string(), name};
}

std::vector<std::vector<std::string>> StopCommands(Runtime runtime, const std::filesystem::path& root,
                                                   const std::string& name) {
  const std::string program(ToText(runtime));
  switch (runtime) {
    case Runtime::kNone:
      return {};
    case Runtime::kCrun:
      // Its "delete --force" kills what is in the container's control group, and an ordinary user's has none.
      return {{program, "--root", root.string(), "kill", name, "KILL"},
              {program, "--root", root.string(), "delete", "--force", name}};
    case Runtime::kRunc:
      return {{program, "--root", root.string(), "delete", "--force", name}};
    case Runtime::kPodman:
      return {{program, "rm", "--force", "--ignore", name}};
    case Runtime::kDocker:
    case Runtime::kNerdctl:
      return {{program, "rm", "--force", name}};
    case Runtime::kCtr:
      return {{program, "tasks", "rm", "--force", name}};
  }
  return {};
}

std::vector<std::string> LeftQuestion(Runtime runtime, const std::string& name) {
  if (runtime == Runtime::kNerdctl) {
    return {"nerdctl", "ps", "--all", "--filter", "name=" + name, "--format", "{{.Names}}"};
  }
  if (runtime == Runtime::kCtr) return {"ctr", "tasks", "list", "--quiet"};
  return {};
}

}  // namespace tessera::local
