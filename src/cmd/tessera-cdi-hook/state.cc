#include "cmd/tessera-cdi-hook/state.h"

#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "json/decode.h"

namespace tessera::hook {
namespace {

constexpr std::size_t kMaxState = std::size_t{1} << 20;

struct State {
  std::string bundle;
  std::string root;  // crun's extension: in a user namespace the bundle may be unreadable. May be relative to it.
};

template <class F>
void Describe(F& f, State& s) {
  f.Optional("bundle", s.bundle);
  f.Optional("root", s.root);
}

struct Root {
  std::string path;
};

template <class F>
void Describe(F& f, Root& r) {
  f.Required("path", r.path);
}

struct Config {
  Root root;
};

template <class F>
void Describe(F& f, Config& c) {
  f.Required("root", c.root);
}

template <class T>
Result<T> Read(std::string_view text, std::string_view name) {
  auto value = json::ParseJson(text);
  if (!value.has_value()) return std::unexpected(std::move(value).error().Wrap(name));
  return json::Decode<T>(*value, json::Unknown::kIgnore, name);
}

Result<std::string> RootPath(const State& state) {
  const std::filesystem::path bundle(state.bundle);
  if (!state.root.empty()) return (bundle / state.root).string();
  if (state.bundle.empty()) return BadConfig("BadState", "the container's state names neither root nor bundle");
  TESSERA_ASSIGN(const std::string text, ReadFile(bundle / "config.json"));
  TESSERA_ASSIGN(const Config config, Read<Config>(text, "config.json"));
  if (config.root.path.empty()) return BadConfig("NoContainerRoot", "config.json: root.path is empty");
  return (bundle / config.root.path).string();
}

}  // namespace

Result<ContainerRoot> RootFromState() {
  TESSERA_ASSIGN(const std::string text, ReadToEnd(STDIN_FILENO, kMaxState, "the container's state"));
  TESSERA_ASSIGN(const State state, Read<State>(text, "the container's state"));
  TESSERA_ASSIGN(const std::string path, RootPath(state));
  // The working directory may be the container's, so that a relative path would start inside it.
  if (!path.starts_with('/')) {
    return BadConfig("NoContainerRoot", Format("the container's root {} is not an absolute path", Quote(path)));
  }
  return ContainerRoot::Open(path);
}

Result<ContainerRoot> WritableRootFromState() {
  TESSERA_ASSIGN(ContainerRoot root, RootFromState());
  if (!root.IsReadOnly()) return root;
  return root.WithOwnMounts();
}

}  // namespace tessera::hook
