// The names of our sockets, and what crashed instances left behind.
#include <openssl/sha.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "kubelet/plugin_server.h"
#include "kubelet/unix_socket.h"

namespace tessera::kubelet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRegistrationSuffix = "-reg.sock";

// The first `size` bytes of the text's SHA-256 in base64, URL-safe and unpadded.
std::string ShortHash(std::string_view text, std::size_t size) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string encoded;
  std::uint32_t bits = 0;
  int pending = 0;  // Bits not yet written.
  for (std::size_t i = 0; i < size; ++i) {
    bits = bits << 8 | digest[i];
    for (pending += 8; pending >= 6; pending -= 6) encoded += kLetters[bits >> (pending - 6) & 0x3F];
  }
  if (pending > 0) encoded += kLetters[bits << (6 - pending) & 0x3F];
  return encoded;
}

// What the Go helper of 1.37 would take, longest first. It compares with 108 bytes, of which one is not usable.
std::vector<std::string> RegistrationNames(const std::string& driver, const std::string& instance) {
  if (instance.empty()) return {Format("{}{}", driver, kRegistrationSuffix)};
  return {Format("{}-{}{}", driver, instance, kRegistrationSuffix),
          Format("{}-{}{}", driver, ShortHash(instance, 8), kRegistrationSuffix),
          Format("dra-{}{}", ShortHash(driver + '\0' + instance, 16), kRegistrationSuffix)};
}

Result<fs::path> FirstThatFits(const fs::path& directory, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (fs::path path = directory / name; path.native().size() <= kMaxSocketPath) return path;
  }
  return BadConfig(
      "SocketPathTooLong",
      Format("{} is too long for a socket: {} bytes are allowed", (directory / names.back()).native(), kMaxSocketPath),
      "use a kubelet root directory with a shorter path");
}

// The kubelet reads the endpoint as a URL.
Result<void> CheckDirectory(const fs::path& directory) {
  const std::string& text = directory.native();
  const bool plain = std::ranges::none_of(
      text, [](unsigned char c) { return c <= ' ' || c >= 0x7F || c == '%' || c == '?' || c == '#'; });
  if (directory.is_absolute() && plain) return {};
  return BadConfig("SocketPathUnusable", Format("the kubelet cannot use sockets in {}", Quote(text)),
                   "give an absolute path without blanks and without % ? #");
}

// A name becomes part of a path.
Result<void> CheckNames(const PluginOptions& options) {
  if (!IsDnsSubdomain(options.driver_name, 63)) {
    return BadConfig("BadDriverName", Format("{} is no name of a driver", Quote(options.driver_name)),
                     "use a lower-case DNS subdomain of at most 63 characters");
  }
  if (options.instance.empty() || api::IsClaimUid(options.instance)) return {};
  return BadConfig("BadInstance", Format("{} is no UID of a pod", Quote(options.instance)),
                   "give the pod's metadata.uid through the downward API");
}

// Whether `name` is `prefix` + suffix, or `prefix` + "-" + anything + suffix.
bool IsSocketOf(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (name.size() < prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return name.empty() || name.starts_with('-');
}

void RemoveDead(const fs::path& directory, std::string_view prefix, std::string_view suffix,
                std::vector<fs::path>& removed) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (!IsSocketOf(path.filename().native(), prefix, suffix)) continue;
    const std::optional<FileIdentity> socket = SocketAt(path);
    if (!socket) continue;
    const auto listener = CheckListener(path);
    if (listener.has_value() || listener.error().code() != "NobodyListens") continue;
    if (UnlinkIf(path, *socket)) removed.push_back(path);
  }
}

}  // namespace

Result<SocketPaths> MakeSocketPaths(const PluginOptions& options) {
  TESSERA_TRY(CheckNames(options));
  TESSERA_TRY(CheckDirectory(options.registry));
  TESSERA_TRY(CheckDirectory(options.directory));
  SocketPaths paths;
  TESSERA_ASSIGN(paths.registration,
                 FirstThatFits(options.registry, RegistrationNames(options.driver_name, options.instance)));
  const std::string service = options.instance.empty() ? "dra.sock" : Format("dra-{}.sock", options.instance);
  TESSERA_ASSIGN(paths.service, FirstThatFits(options.directory, {service}));
  return paths;
}

std::vector<fs::path> RemoveStaleSockets(const PluginOptions& options) {
  std::vector<fs::path> removed;
  RemoveDead(options.registry, options.driver_name, kRegistrationSuffix, removed);
  RemoveDead(options.directory, "dra", ".sock", removed);
  RemoveDead(options.directory, "health", ".sock", removed);
  for (const fs::path& directory : {options.registry, options.directory})
    RemoveDead(directory, kHiddenPrefix, "", removed);
  std::ranges::sort(removed);
  return removed;
}

}  // namespace tessera::kubelet
