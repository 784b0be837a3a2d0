// local/runtime.h: what the command runs in, and how it is told so. Arguments only, no shell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::local {

enum class Runtime : std::uint8_t {
  kNone,    // A bare process.
  kCrun,    // A container with this machine's own files.
  kRunc,    // The same.
  kPodman,  // A container of an image, as all that follow.
  kDocker,
  kNerdctl,
  kCtr,
};
std::string_view ToText(Runtime runtime);  // The program's name; "none".
bool TakesImage(Runtime runtime);

// `wanted` is "auto", "containerd" (nerdctl or ctr) or a runtime's name. `find` says where a program is, or nothing.
// Errors: "NoRuntime", "ImageWanted", "ImageNotWanted", "SpecsNotPublic".
struct Choice {
  std::string wanted = "auto";
  bool has_image = false;
  bool unified_cgroups = true;   // crun refuses machines that have both versions; runc takes all.
  bool has_nodes = true;         // False: GPUs that an ordinary user simulates are plain files, no use to containers.
  bool specs_are_public = true;  // The claims' CDI files are where the daemons of docker and containerd look.
};
Result<Runtime> ChooseRuntime(const Choice& choice, const std::function<std::string(const std::string&)>& find);

// A container of an image.
struct ImageRun {
  std::string name;                  // Of the container.
  std::vector<std::string> devices;  // What gives it the claim's devices: CDI ids …
  std::vector<std::string> flags;    // … or flags that say the same (podman_flags.h).
  std::vector<std::string> options;  // The user's own.
  std::string image;
  std::vector<std::string> command;
  bool has_terminal = false;
};
std::vector<std::string> ImageArguments(Runtime runtime, const ImageRun& run);

// A container of a bundle (host_bundle.h). `root` is where the runtime keeps its own state.
std::vector<std::string> BundleArguments(Runtime runtime, const std::filesystem::path& root,
                                         const std::filesystem::path& bundle, const std::string& name);

// Programs that end and remove a container that its run left behind, one after the other. The last one succeeds when
// there is none any more, except with those that have to be asked.
std::vector<std::vector<std::string>> StopCommands(Runtime runtime, const std::filesystem::path& root,
                                                   const std::string& name);

// What answers with the names of containers, a line each, of which `name` is one while it is there. For nerdctl, whose
// "rm --force" always succeeds, and ctr, whose fails also when there is nothing to remove; empty for the others.
std::vector<std::string> LeftQuestion(Runtime runtime, const std::string& name);
std::optional<Runtime> ParseRuntime(std::string_view text);

}  // namespace tessera::local
