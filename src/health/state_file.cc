#include "health/state_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"

namespace tessera::health {

template <class F>
void Describe(F& f, PastDevice& d) {
  f.Required("device", d.device);
  f.Required("uuid", d.uuid);
  f.Required("state", d.state);
  f.Required("health", d.health);
  f.Optional("message", d.message);
}

template <class F>
void Describe(F& f, PastClaim& c) {
  f.Required("namespace", c.claim_namespace);
  f.Required("name", c.name);
  f.Required("uid", c.uid);
  f.Required("finished", c.finished);
  f.Optional("devices", c.devices);
}

template <class F>
void Describe(F& f, History& h) {
  f.Optional("claims", h.claims);
}

namespace {

constexpr unsigned kVersion = 1;

template <class T>
struct Versioned {
  unsigned version = kVersion;
  T value;
};

template <class F, class T>
void Describe(F& f, Versioned<T>& v) {
  f.Required("version", v.version);
  f.Check(v.version == kVersion, "version", Format("is not {}", kVersion));
  Describe(f, v.value);
}

// Fields of a newer version do not matter: the versions before and after must read each other's files.
template <class T>
Result<T> Parse(const std::string& text) {
  TESSERA_ASSIGN(const json::Value value, json::ParseJson(text));
  TESSERA_ASSIGN(auto versioned, json::Decode<Versioned<T>>(value, json::Unknown::kIgnore));
  return std::move(versioned.value);
}

template <class T>
Result<T> Read(const std::filesystem::path& path) {
  if (std::error_code error; !std::filesystem::exists(path, error) && !error) return T();
  TESSERA_ASSIGN(const std::string text, ReadFile(path, kMaxStateSize));
  return Parse<T>(text);
}

template <class T>
Loaded<T> Load(const std::filesystem::path& path) {
  auto value = Read<T>(path);
  if (value.has_value()) return {*std::move(value), std::nullopt};

  const std::string aside = path.string() + ".damaged";
  const bool moved = std::rename(path.c_str(), aside.c_str()) == 0;
  return {T(), Error(ErrorKind::kTransient, "HealthStateDamaged",
                     Format("{}: {}; {}", path.string(), value.error().message(),
                            moved ? "set aside as " + aside : std::string("it could not be set aside")),
                     "nothing to do: what still stands is found again; Xids from before are forgotten")};
}

template <class T>
Result<void> Store(const std::filesystem::path& path, const T& value) {
  return ReplaceFileDurably(path, json::PrintJson(json::Encode(Versioned<T>{kVersion, value})) + "\n", 0600);
}

}  // namespace

Loaded<SavedHealth> LoadHealth(const std::filesystem::path& path) { return Load<SavedHealth>(path); }

Result<SavedHealth> ReadHealth(const std::filesystem::path& path) { return Read<SavedHealth>(path); }

Result<void> StoreHealth(const std::filesystem::path& path, const SavedHealth& health) { return Store(path, health); }

PastDevice ToPast(const DeviceHealth& health) {
  return {.device = health.device,
          .uuid = health.uuid,
          .state = health.state,
          .health = health.health,
          .message = health.message};
}

void Remember(History& history, PastClaim claim) {
  if (std::ranges::find(history.claims, claim.uid, &PastClaim::uid) != history.claims.end()) return;
  history.claims.push_back(std::move(claim));
  std::ranges::stable_sort(history.claims, {}, &PastClaim::finished);
  if (history.claims.size() > kMaxHistory) history.claims.erase(history.claims.begin());
}

void Prune(History& history, std::chrono::system_clock::time_point now, std::chrono::seconds keep) {
  const auto oldest = std::chrono::duration_cast<std::chrono::seconds>((now - keep).time_since_epoch()).count();
  std::erase_if(history.claims, [&](const PastClaim& claim) { return claim.finished < oldest; });
}

Loaded<History> LoadHistory(const std::filesystem::path& path) { return Load<History>(path); }

Result<History> ReadHistory(const std::filesystem::path& path) { return Read<History>(path); }

Result<void> StoreHistory(const std::filesystem::path& path, const History& history) { return Store(path, history); }

}  // namespace tessera::health
