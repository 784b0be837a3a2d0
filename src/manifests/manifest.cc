#include "manifests/manifest.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"

namespace tessera::manifests {
namespace {

struct Metadata {
  std::string name, generate_name, namespace_name;
};
template <class F>
void Describe(F& f, Metadata& m) {
  f.Optional("name", m.name);
  f.Optional("generateName", m.generate_name);
  f.Optional("namespace", m.namespace_name);
}

struct Header {
  std::string api_version, kind;
  Metadata metadata;
};
template <class F>
void Describe(F& f, Header& h) {
  f.Required("apiVersion", h.api_version);
  f.Required("kind", h.kind);
  f.Optional("metadata", h.metadata);
}

Error Located(const Origin& origin, const Error& error) {
  if (origin.file.empty()) return error;
  return {error.kind(), error.code(), Format("{}: {}", ToText(origin), error.message()), error.advice()};
}

// `items` of a List; null when it is none. A kind of its own that ends in "List" has no items.
const json::Array* ItemsOf(const Manifest& manifest) {
  if (!manifest.kind.ends_with("List")) return nullptr;
  const json::Value* items = manifest.value.get_object().if_contains("items");
  return items != nullptr ? items->if_array() : nullptr;
}

Result<Manifest> ReadHeader(json::Value value, json::Mark mark, Origin origin) {
  const auto header = json::Decode<Header>(value, json::Unknown::kIgnore);
  if (!header.has_value()) {
    const Error error(ErrorKind::kPermanentConfig, "BadManifest",
                      "not a Kubernetes object: " + header.error().message());
    return std::unexpected(Located(origin, error));
  }
  const Metadata& metadata = header->metadata;
  return Manifest{.origin = std::move(origin),
                  .api_version = header->api_version,
                  .kind = header->kind,
                  .namespace_name = metadata.namespace_name,
                  .name = metadata.name.empty() ? metadata.generate_name : metadata.name,
                  .value = std::move(value),
                  .mark = std::move(mark)};
}

// The server leaves kind and version out of the items of a typed list, such as a ResourceClaimList.
void CompleteItem(const Manifest& list, json::Value& item) {
  json::Object* object = item.if_object();
  if (object == nullptr || list.kind == "List" || object->contains("kind")) return;
  object->emplace("kind", list.kind.substr(0, list.kind.size() - std::string_view("List").size()));
  object->emplace("apiVersion", list.api_version);
}

Result<void> Unpack(Manifest manifest, std::vector<Manifest>& out) {
  const json::Array* items = ItemsOf(manifest);
  if (items == nullptr) {
    out.push_back(std::move(manifest));
    return {};
  }
  // The mark's parts are those of the object as it was read, so the list is looked up in the value as it still is.
  const auto& object = manifest.value.get_object();
  const auto place = static_cast<std::size_t>(std::distance(object.begin(), object.find("items")));
  json::Mark* marks = place < manifest.mark.parts.size() ? &manifest.mark.parts[place] : nullptr;
  for (std::size_t i = 0; i < items->size(); ++i) {
    json::Mark mark = marks != nullptr && i < marks->parts.size() ? std::move(marks->parts[i]) : json::Mark{};
    Origin origin = manifest.origin;
    if (mark.line != 0) origin.line = mark.line;
    json::Value item = (*items)[i];
    CompleteItem(manifest, item);
    TESSERA_ASSIGN(Manifest unpacked, ReadHeader(std::move(item), std::move(mark), std::move(origin)));
    out.push_back(std::move(unpacked));
  }
  return {};
}

Result<std::string> ReadStandardInput(std::size_t limit) {
  std::string content;
  for (std::size_t used = 0;;) {
    if (used > limit) {
      return BadConfig("FileTooLarge", Format("reading standard input: larger than the limit of {} bytes", limit));
    }
    content.resize(used + 65536);
    const ssize_t got = ::read(STDIN_FILENO, content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, "FileUnreadable", "reading standard input");
    used += static_cast<std::size_t>(got);
    if (got != 0) continue;
    content.resize(used);
    return content;
  }
}

}  // namespace

std::string ToText(const Origin& origin) {
  if (origin.file.empty()) return {};
  return Format("{}, document {}, line {}", origin.file, origin.document, origin.line);
}

Origin Manifest::At(std::string_view path) const {
  Origin at = origin;
  if (mark.line != 0) at.line = json::LineOf(value, mark, path);
  return at;
}

Result<std::vector<Manifest>> ParseManifests(std::string_view text, const std::string& file) {
  auto documents = json::ParseMarkedYaml(text);
  if (!documents.has_value()) return std::unexpected(std::move(documents).error().Wrap(file));
  std::vector<Manifest> manifests;
  for (json::MarkedDocument& document : *documents) {
    Origin origin{.file = file, .document = document.number, .line = document.mark.line};
    TESSERA_ASSIGN(Manifest manifest,
                   ReadHeader(std::move(document.value), std::move(document.mark), std::move(origin)));
    TESSERA_TRY(Unpack(std::move(manifest), manifests));
  }
  return manifests;
}

Result<std::vector<Manifest>> ReadManifests(const std::string& file, std::size_t limit) {
  if (file == "-") {
    TESSERA_ASSIGN(const std::string text, ReadStandardInput(limit));
    return ParseManifests(text, "standard input");
  }
  TESSERA_ASSIGN(const std::string text, ReadFile(file, limit));
  return ParseManifests(text, file);
}

Result<std::vector<Manifest>> FromServer(json::Value value) {
  std::vector<Manifest> manifests;
  TESSERA_ASSIGN(Manifest manifest, ReadHeader(std::move(value), {}, {}));
  TESSERA_TRY(Unpack(std::move(manifest), manifests));
  return manifests;
}

}  // namespace tessera::manifests
