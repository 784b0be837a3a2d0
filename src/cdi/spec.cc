#include "cdi/spec.h"

#include "base/text.h"
#include "json/decode.h"

namespace tessera::cdi {

template <class F>
void Describe(F& f, DeviceNode& n) {
  f.Required("path", n.path);
  f.Optional("hostPath", n.host_path);
  f.Optional("type", n.type);
  f.Optional("major", n.major);
  f.Optional("minor", n.minor);
  f.Optional("fileMode", n.file_mode);
  f.Optional("permissions", n.permissions);
  f.Optional("gid", n.gid);
}

template <class F>
void Describe(F& f, Mount& m) {
  f.Required("hostPath", m.host_path);
  f.Required("containerPath", m.container_path);
  f.Optional("options", m.options);
}

template <class F>
void Describe(F& f, Hook& h) {
  f.Required("hookName", h.name);
  f.Required("path", h.path);
  f.Optional("args", h.args);
  f.Optional("env", h.env);
}

template <class F>
void Describe(F& f, Edits& e) {
  f.Optional("env", e.env);
  f.Optional("deviceNodes", e.device_nodes);
  f.Optional("mounts", e.mounts);
  f.Optional("hooks", e.hooks);
  f.Optional("additionalGids", e.additional_gids);
}

template <class F>
void Describe(F& f, Device& d) {
  f.Required("name", d.name);
  f.Required("containerEdits", d.edits);
}

namespace {

// A spec with its version in front: what a file holds.
struct Document {
  std::string version;
  Spec spec;
};

template <class F>
void Describe(F& f, Document& d) {
  f.Required("cdiVersion", d.version);
  f.Required("kind", d.spec.kind);
  f.Required("devices", d.spec.devices);
  f.Optional("containerEdits", d.spec.edits);
}

// YAML 1.1 ends a comment at U+0085, U+2028 and U+2029 as well, and Go's reader refuses control characters even there.
// Only plain ASCII is safe.
std::string CommentLine(std::string_view comment) {
  std::string line = "# ";
  for (const char c : comment) line += c >= 0x20 && c < 0x7F ? c : '?';
  return line + '\n';
}

}  // namespace

bool Edits::empty() const {
  return env.empty() && device_nodes.empty() && mounts.empty() && hooks.empty() && additional_gids.empty();
}

std::string Print(const Spec& spec, std::string_view comment) {
  const Document document{std::string(MinimumVersion(spec)), spec};
  return (comment.empty() ? std::string() : CommentLine(comment)) + json::PrintYaml(json::Encode(document));
}

Result<Spec> Parse(std::string_view text) {
  TESSERA_ASSIGN(const std::vector<json::Value> documents, json::ParseYaml(text));
  if (documents.size() != 1) {
    return BadConfig("BadCdiSpec", Format("a CDI file holds one document, this one holds {}", documents.size()));
  }
  TESSERA_ASSIGN(Document document, json::Decode<Document>(documents.front(), json::Unknown::kIgnore));
  return std::move(document.spec);
}

std::string QualifiedName(const Spec& spec, const Device& device) { return spec.kind + '=' + device.name; }

}  // namespace tessera::cdi
