// The rules of the reference parser (container-device-interface, pkg/parser and pkg/cdi): a file that breaks one of them
// is skipped by the runtime, and the container fails with "unresolvable CDI devices".
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "cdi/spec.h"

namespace tessera::cdi {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool IsIn(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
bool IsLetter(char c) { return IsIn(c, kLetters); }
bool IsAlphanumeric(char c) { return IsLetter(c) || IsIn(c, kDigits); }

bool HasForm(std::string_view name, bool digit_first, std::string_view inner) {
  if (name.empty() || !(digit_first ? IsAlphanumeric(name.front()) : IsLetter(name.front()))) return false;
  return IsAlphanumeric(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return IsAlphanumeric(c) || IsIn(c, inner); });
}

bool IsVendorOrClass(std::string_view name) { return HasForm(name, false, "_-."); }
bool IsDeviceName(std::string_view name) { return HasForm(name, true, "_-.:"); }

bool IsKind(std::string_view kind) {
  const auto parts = Cut(kind, "/");
  return parts && IsVendorOrClass(parts->first) && IsVendorOrClass(parts->second);
}

// YAML takes NEL, LS and PS for line ends, so that a path with one of them would begin a new line of the file.
bool IsOneLine(std::string_view text) {
  for (const std::string_view line_end : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    if (text.find(line_end) != std::string_view::npos) return false;
  }
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// Collects everything that is wrong with one spec.
class Checker {
 public:
  void CheckSpec(const Spec& spec) {
    Check(IsKind(spec.kind), "kind", spec.kind, "is not of the form vendor/class");
    if (spec.devices.empty()) faults_.emplace_back("there are no devices");
    std::set<std::string_view> names;
    for (const Device& device : spec.devices) {
      Check(IsDeviceName(device.name), "device", device.name, "is not a valid name");
      Check(names.insert(device.name).second, "device", device.name, "is there twice");
      Check(!device.edits.empty(), "device", device.name, "has no edits");
      CheckEdits(device.edits);
    }
    CheckEdits(spec.edits);
  }

  Result<void> Verdict() const {
    if (faults_.empty()) return {};
    return BadConfig("BadCdiSpec", "container runtimes would refuse the CDI spec: " + Join(faults_, "; "));
  }

 private:
  void Check(bool holds, std::string_view what, std::string_view found, std::string_view fault) {
    if (!holds) faults_.push_back(Format("{} {} {}", what, Quote(Clip(found, 100)), fault));
  }

  void CheckText(std::string_view what, std::string_view text) {
    Check(IsOneLine(text), what, text, "has control characters or line ends");
  }

  void CheckPath(std::string_view what, std::string_view path) {
    Check(!path.empty(), what, path, "is empty");
    CheckText(what, path);
  }

  void CheckEnvironment(const std::vector<std::string>& entries) {
    for (const std::string& entry : entries) {
      const auto parts = Cut(entry, "=");
      Check(parts && !parts->first.empty(), "environment", entry, "is not of the form NAME=value");
      CheckText("environment", entry);
    }
  }

  void CheckNode(const DeviceNode& node) {
    CheckPath("device node", node.path);
    CheckText("device node", node.host_path);
    Check(node.type.empty() || (node.type.size() == 1 && IsIn(node.type[0], "bcup")), "device node", node.path,
          "has a type other than b, c, u and p");
    Check(node.permissions.find_first_not_of("rwm") == std::string::npos, "device node", node.path,
          "has permissions other than r, w and m");
    Check(!node.file_mode || *node.file_mode <= 07777, "device node", node.path, "has more than permission bits");
  }

  void CheckHook(const Hook& hook) {
    constexpr auto kNames = std::to_array<std::string_view>(
        {"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"});
    Check(std::ranges::find(kNames, hook.name) != kNames.end(), "hook", hook.name, "is not one of OCI's");
    Check(hook.path.starts_with('/'), "hook path", hook.path, "is not absolute");
    CheckText("hook path", hook.path);
    for (const std::string& arg : hook.args) CheckText("hook argument", arg);
    // Our own rule: without one, runtimes give the hook the container's environment (CVE-2025-23266).
    Check(!hook.env.empty(), "hook", hook.path, "has no environment of its own");
    CheckEnvironment(hook.env);
  }

  void CheckEdits(const Edits& edits) {
    CheckEnvironment(edits.env);
    for (const DeviceNode& node : edits.device_nodes) CheckNode(node);
    for (const Mount& mount : edits.mounts) {
      CheckPath("mount from", mount.host_path);
      CheckPath("mount at", mount.container_path);
      for (const std::string& option : mount.options) CheckText("mount option", option);
    }
    for (const Hook& hook : edits.hooks) CheckHook(hook);
  }

  std::vector<std::string> faults_;
};

bool AnyEdits(const Spec& spec, const auto& holds) {
  return holds(spec.edits) ||
         std::ranges::any_of(spec.devices, [&](const Device& device) { return holds(device.edits); });
}

}  // namespace

Result<void> Validate(const Spec& spec) {
  Checker checker;
  checker.CheckSpec(spec);
  return checker.Verdict();
}

std::string_view MinimumVersion(const Spec& spec) {
  if (AnyEdits(spec, [](const Edits& edits) { return !edits.additional_gids.empty(); })) return "0.7.0";
  if (const auto kind = Cut(spec.kind, "/"); kind && IsIn('.', kind->second)) return "0.6.0";
  const bool has_host_path = AnyEdits(spec, [](const Edits& edits) {
    return std::ranges::any_of(edits.device_nodes, [](const DeviceNode& node) { return !node.host_path.empty(); });
  });
  const bool has_digit_first = std::ranges::any_of(
      spec.devices, [](const Device& device) { return !device.name.empty() && IsIn(device.name.front(), kDigits); });
  return has_host_path || has_digit_first ? "0.5.0" : "0.3.0";
}

}  // namespace tessera::cdi
