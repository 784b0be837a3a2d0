#include "tests/standin/bundle.h"

#include "base/fd.h"
#include "base/text.h"
#include "cdi/apply.h"
#include "json/value.h"

namespace tessera::standin {
namespace {

namespace fs = std::filesystem;

json::Object Mount(std::string_view destination, std::string_view type, json::Array options) {
  return {{"destination", destination}, {"type", type}, {"source", type}, {"options", std::move(options)}};
}

// The least that a runtime takes: no capabilities, no network of its own, every device denied.
json::Value PlainConfig(const std::vector<std::string>& command) {
  json::Array namespaces;
  for (const char* type : {"mount", "pid", "ipc", "uts"}) namespaces.push_back(json::Object{{"type", type}});
  const json::Object everything{{"allow", false}, {"access", "rwm"}};
  return {{"ociVersion", "1.0.2"},
          {"hostname", "container"},
          {"root", {{"path", "rootfs"}, {"readonly", true}}},
          {"process",
           {{"terminal", false},
            {"user", {{"uid", 0}, {"gid", 0}}},
            {"cwd", "/"},
            {"args", json::Array(command.begin(), command.end())},
            {"env", json::Array{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}},
            {"noNewPrivileges", true}}},
          {"mounts", json::Array{Mount("/proc", "proc", {"nosuid", "noexec", "nodev"}),
                                 Mount("/dev", "tmpfs", {"nosuid", "strictatime", "mode=755"})}},
          {"linux", {{"namespaces", std::move(namespaces)}, {"resources", {{"devices", json::Array{everything}}}}}}};
}

Result<std::vector<cdi::Spec>> ReadSpecs(const std::vector<fs::path>& directories) {
  std::vector<cdi::Spec> specs;
  for (const fs::path& directory : directories) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.path().extension() != ".yaml") continue;
      TESSERA_ASSIGN(const std::string text, ReadFile(entry.path()));
      auto spec = cdi::Parse(text);
      if (!spec) return std::unexpected(std::move(spec).error().Wrap(entry.path().string()));
      specs.push_back(*std::move(spec));
    }
  }
  return specs;
}

}  // namespace

Result<void> WriteBundle(const BundleOptions& options) {
  TESSERA_ASSIGN(const std::vector<cdi::Spec> specs, ReadSpecs(options.cdi_dirs));
  json::Value config = PlainConfig(options.command);
  TESSERA_TRY(cdi::Apply(config, specs, options.devices));
  return ReplaceFile(options.dir / "config.json", json::PrintJson(config, 2) + "\n");
}

}  // namespace tessera::standin
