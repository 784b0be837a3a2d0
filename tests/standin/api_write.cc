// The writing verbs of api.h.
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/text.h"
#include "tests/standin/api.h"
#include "tests/standin/convert.h"
#include "tests/standin/status.h"

namespace tessera::standin {
namespace {

template <std::size_t size>
std::array<unsigned char, size> RandomBytes() {
  std::array<unsigned char, size> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(size)) != 1) Abort("OpenSSL has no random bytes");
  return bytes;
}

std::string RandomUuid() {
  auto b = RandomBytes<16>();
  b[6] = static_cast<unsigned char>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<unsigned char>((b[8] & 0x3f) | 0x80);
  std::string out;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    format_to(std::back_inserter(out), "{:02x}", b[i]);
  }
  return out;
}

// As apiserver/pkg/storage/names: at most 58 bytes of the base, and five characters without vowels.
std::string GenerateName(std::string_view base) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string name(base.substr(0, 58));
  for (const unsigned char byte : RandomBytes<5>()) name += kLetters[byte % kLetters.size()];
  return name;
}

std::string_view TextOf(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  const json::String* text = value ? value->if_string() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

json::Object& Metadata(json::Object& object) { return object["metadata"].as_object(); }
const json::Object& Metadata(const Stored& object) { return object.value.at("metadata").as_object(); }

bool HasStatus(std::string_view resource) {
  return resource == "resourceclaims" || resource == "pods" || resource == "nodes";
}

void Copy(const json::Object& from, json::Object& to, std::string_view name) {
  if (const json::Value* value = from.if_contains(name)) {
    to[name] = *value;
  } else {
    to.erase(name);
  }
}

bool Same(const json::Object& a, const json::Object& b, std::string_view name) {
  const json::Value* left = a.if_contains(name);
  const json::Value* right = b.if_contains(name);
  return left && right ? *left == *right : left == right;
}

bool HasFinalizers(const json::Object& metadata) {
  const json::Value* list = metadata.if_contains("finalizers");
  return list && list->is_array() && !list->as_array().empty();
}

// An object of the right shape: JSON or YAML, metadata an object.
std::expected<json::Object, Answer> ParseBody(const Request& request) {
  if (request.header("content-type").find("yaml") != std::string_view::npos) {
    auto documents = json::ParseYaml(request.body);
    if (!documents || documents->size() != 1 || !documents->front().is_object()) {
      return std::unexpected(Refuse(400, "error decoding YAML: expected one object"));
    }
    return std::move(documents->front().as_object());
  }
  auto value = json::ParseJson(request.body);
  if (!value) return std::unexpected(Refuse(400, value.error().message()));
  if (!value->is_object()) return std::unexpected(Refuse(400, "the body is no object"));
  return std::move(value->as_object());
}

// Fills in kind and apiVersion; an apiVersion of another version is refused, as by the real decoder.
std::optional<Answer> CheckType(const Target& target, json::Object& object) {
  const std::string_view given = TextOf(object, "apiVersion");
  if (!given.empty() && given != target.api_version()) {
    return Refuse(400, Format("the API version in the data ({}) does not match the expected API version ({})", given,
                              target.api_version()));
  }
  object["apiVersion"] = target.api_version();
  if (TextOf(object, "kind").empty()) object["kind"] = KindOf(target.key.resource);
  if (!object["metadata"].is_object()) object["metadata"] = json::Object();
  return std::nullopt;
}

// RFC 7386.
void Merge(json::Object& into, const json::Object& patch) {
  for (const auto& item : patch) {
    if (item.value().is_null()) {
      into.erase(item.key());
    } else if (const json::Object* inner = item.value().if_object()) {
      json::Value& place = into[item.key()];
      if (!place.is_object()) place = json::Object();
      Merge(place.as_object(), *inner);
    } else {
      into[item.key()] = item.value();
    }
  }
}

// Of DeleteOptions.
std::optional<Answer> CheckPreconditions(const Request& request, const Stored& object) {
  if (request.body.empty()) return std::nullopt;
  const auto body = ParseBody(request);
  if (!body) return body.error();
  const json::Value* preconditions = body->if_contains("preconditions");
  if (!preconditions || !preconditions->is_object()) return std::nullopt;
  const std::string_view uid = TextOf(preconditions->as_object(), "uid");
  const std::string_view version = TextOf(preconditions->as_object(), "resourceVersion");
  const std::string_view stored = TextOf(Metadata(object), "uid");
  if (!uid.empty() && uid != stored) return PreconditionFailed(object.key, "UID", uid, stored);
  const std::string now = std::to_string(object.version);
  if (!version.empty() && version != now) return PreconditionFailed(object.key, "ResourceVersion", version, now);
  return std::nullopt;
}

}  // namespace

Answer Api::Create(Target target, const Request& request, Caller caller) {
  auto object = ParseBody(request);
  if (!object) return object.error();
  if (auto refusal = CheckType(target, *object)) return *refusal;
  const std::string_view name = TextOf(Metadata(*object), "name");
  const std::string_view base = TextOf(Metadata(*object), "generateName");
  if (name.empty() && base.empty()) {
    return Refuse(422, "metadata.name: Required value: name or generateName is required", target.key);
  }
  target.key.name = name.empty() ? GenerateName(base) : std::string(name);
  const std::lock_guard lock(writes_);
  if (store_.Find(target.key)) return AlreadyExists(target.key);
  return Insert(target, std::move(*object), caller);
}

Answer Api::Insert(const Target& target, json::Object object, Caller caller) {
  if (target.key.group == kResourceGroup) ToStored(target.key.resource, target.version, object);
  if (caller == Caller::kClient && HasStatus(target.key.resource)) object.erase("status");
  json::Object& metadata = Metadata(object);
  metadata["name"] = target.key.name;
  if (!target.key.ns.empty()) metadata["namespace"] = target.key.ns;
  metadata["uid"] = RandomUuid();
  metadata["creationTimestamp"] = Rfc3339(SystemClock().Now());
  if (caller == Caller::kClient) metadata.erase("managedFields");  // An administrator may play another client.
  if (object.contains("spec")) metadata["generation"] = 1;
  Answer answer{.status = 201};
  RunHook(target, object, answer.headers);
  answer.body = Shown(target, *store_.Put(target.key, std::move(object)));
  return answer;
}

Answer Api::Replace(const Target& target, const Request& request, Caller caller) {
  auto object = ParseBody(request);
  if (!object) return object.error();
  if (auto refusal = CheckType(target, *object)) return *refusal;
  const std::lock_guard lock(writes_);
  const ObjectRef old = store_.Find(target.key);
  if (!old) return NotFound(target.key);
  return Update(target, old, std::move(*object), caller);
}

Answer Api::Patch(const Target& target, const Request& request, Caller caller) {
  const std::string_view type = request.header("content-type");
  const bool apply = type.starts_with("application/apply-patch+yaml");
  if (!apply && !type.starts_with("application/merge-patch+json") &&
      !type.starts_with("application/strategic-merge-patch+json")) {
    return Refuse(415, "the body of the request was in an unknown format", target.key);
  }
  if (apply && request.parameter("fieldManager").empty()) {
    return Refuse(
        422, R"(PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch)");
  }
  auto patch = ParseBody(request);
  if (!patch) return patch.error();
  const std::lock_guard lock(writes_);
  const ObjectRef old = store_.Find(target.key);
  if (!old && (!apply || !target.subresource.empty())) return NotFound(target.key);
  if (!old) {
    if (auto refusal = CheckType(target, *patch)) return *refusal;
    return Insert(target, std::move(*patch), caller);
  }
  json::Object merged = target.key.group == kResourceGroup
                            ? FromStored(target.key.resource, target.version, old->value).as_object()
                            : old->value.as_object();
  const json::Object before = merged;
  Merge(merged, *patch);
  if (auto refusal = CheckType(target, merged)) return *refusal;
  if (apply && target.key.resource == "resourceclaims" && target.subresource == "status") {
    const std::string manager(request.parameter("fieldManager"));
    if (auto refusal = applied_.Apply(target.key, manager, before, *patch, merged)) return *refusal;
  }
  return Update(target, old, std::move(merged), caller);
}

Answer Api::Update(const Target& target, const ObjectRef& old, json::Object object, Caller caller) {
  const json::Object& before = old->value.as_object();
  const std::string_view version = TextOf(Metadata(object), "resourceVersion");
  const std::string_view uid = TextOf(Metadata(object), "uid");
  if (!version.empty() && version != std::to_string(old->version)) return Modified(target.key);
  if (!uid.empty() && uid != TextOf(Metadata(*old), "uid")) {
    return PreconditionFailed(target.key, "UID", uid, TextOf(Metadata(*old), "uid"));
  }
  const std::string_view name = TextOf(Metadata(object), "name");
  if (!name.empty() && name != target.key.name) {
    return Refuse(400,
                  Format("the name of the object ({}) does not match the name on the URL ({})", name, target.key.name));
  }
  if (target.key.group == kResourceGroup) ToStored(target.key.resource, target.version, object);
  if (target.subresource == "status") {
    json::Object whole = before;
    Copy(object, whole, "status");
    object = std::move(whole);
  } else if (caller == Caller::kClient && HasStatus(target.key.resource)) {
    Copy(before, object, "status");
  }
  json::Object& metadata = Metadata(object);
  for (const std::string_view kept :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "generation", "resourceVersion"}) {
    Copy(Metadata(*old), metadata, kept);
  }
  if (caller == Caller::kClient) metadata.erase("managedFields");  // An administrator may play another client.
  Answer answer;
  RunHook(target, object, answer.headers);
  if (!Same(before, object, "spec")) {
    const json::Value* generation = metadata.if_contains("generation");
    metadata["generation"] = generation ? generation->to_number<std::int64_t>() + 1 : 1;
  }
  // An update that changes nothing has no new version and no event, as the real server does it.
  ObjectRef stored = old;
  if (before != object) stored = store_.Put(target.key, object);
  if (metadata.contains("deletionTimestamp") && !HasFinalizers(metadata)) stored = store_.Remove(target.key);
  answer.body = Shown(target, *stored);
  return answer;
}

ObjectRef Api::RemoveOrMark(const ObjectRef& object) {
  if (!HasFinalizers(Metadata(*object))) return store_.Remove(object->key);
  if (Metadata(*object).contains("deletionTimestamp")) return object;
  json::Object marked = object->value.as_object();
  Metadata(marked)["deletionTimestamp"] = Rfc3339(SystemClock().Now());
  return store_.Put(object->key, std::move(marked));
}

Answer Api::Delete(const Target& target, const Request& request) {
  const std::lock_guard lock(writes_);
  const ObjectRef old = store_.Find(target.key);
  if (!old) return NotFound(target.key);
  if (auto refusal = CheckPreconditions(request, *old)) return *refusal;
  const ObjectRef last = RemoveOrMark(old);
  // resource.k8s.io's storage returns what was deleted, most others a Status.
  if (target.key.group == kResourceGroup) return {.body = Shown(target, *last)};
  const json::Object details{
      {"name", target.key.name}, {"kind", target.key.resource}, {"uid", TextOf(Metadata(*old), "uid")}};
  return {.body = json::PrintJson({{"kind", "Status"},
                                   {"apiVersion", "v1"},
                                   {"metadata", json::Object()},
                                   {"status", "Success"},
                                   {"details", details}})};
}

Answer Api::DeleteCollection(const Target& target, const Request& request) {
  const auto selector = FieldSelector::Parse(request.parameter("fieldSelector"));
  if (!selector) return Refuse(400, selector.error());
  const std::lock_guard lock(writes_);
  Answer answer = List(target, request);
  const Store::Listing listing = *store_.List(target.key);
  for (const ObjectRef& item : listing.items) {
    if (selector->Matches(item->value)) RemoveOrMark(item);
  }
  return answer;
}

void Api::RunHook(const Target& target, json::Object& object, std::vector<Field>& headers) const {
  WriteHook hook;
  {
    const std::lock_guard lock(mutex_);
    hook = hook_;
  }
  if (!hook) return;
  Write write{.resource = target.key.resource, .object = object, .warnings = {}};
  hook(write);
  for (const std::string& warning : write.warnings) headers.push_back({"Warning", "299 - " + Quote(warning)});
}

}  // namespace tessera::standin
