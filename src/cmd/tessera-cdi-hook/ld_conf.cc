#include "cmd/tessera-cdi-hook/ld_conf.h"

#include <fnmatch.h>

#include <filesystem>
#include <vector>

#include "base/fnv.h"
#include "base/text.h"

namespace tessera::hook {
namespace {

constexpr const char* kLdConf = "/etc/ld.so.conf";
constexpr const char* kLdConfDirectory = "/etc/ld.so.conf.d";
constexpr std::size_t kMaxLdConf = std::size_t{256} << 10;
constexpr std::size_t kMaxLdConfFiles = 1000;

// The files that an include line names. A pattern in a folder's name, which nobody writes, matches nothing here: the
// worst that follows is a folder listed twice.
Result<std::vector<std::string>> Expand(const ContainerRoot& root, const std::filesystem::path& pattern) {
  const std::string directory = pattern.parent_path().string();
  TESSERA_ASSIGN(const std::vector<std::string> names, root.List(directory));
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (::fnmatch(pattern.filename().c_str(), name.c_str(), FNM_PERIOD) == 0) files.push_back(directory + "/" + name);
  }
  return files;
}

class LdConfReader {
 public:
  explicit LdConfReader(const ContainerRoot& root) : root_(root) {}

  Result<std::set<std::string>> Read() {
    seen_.insert(kLdConf);
    pending_.emplace_back(kLdConf);
    while (!pending_.empty()) {
      const std::string file = std::move(pending_.back());
      pending_.pop_back();
      TESSERA_ASSIGN(const std::optional<std::string> text, root_.ReadFile(file, kMaxLdConf));
      if (text) TESSERA_TRY(ReadText(*text, std::filesystem::path(file).parent_path()));
    }
    return std::move(folders_);
  }

 private:
  Result<void> ReadText(std::string_view text, const std::filesystem::path& directory) {
    for (std::string_view line : Split(text, '\n')) {
      line = Trim(line.substr(0, line.find('#')));
      if (line.starts_with("include ") || line.starts_with("include\t")) {
        TESSERA_TRY(Include(line.substr(8), directory));
      } else if (!line.empty()) {
        while (line.size() > 1 && line.ends_with('/')) line.remove_suffix(1);
        folders_.emplace(line);
      }
    }
    return {};
  }

  Result<void> Include(std::string_view patterns, const std::filesystem::path& directory) {
    for (const std::string_view pattern : Split(patterns, ' ')) {
      if (Trim(pattern).empty()) continue;
      TESSERA_ASSIGN(const std::vector<std::string> files, Expand(root_, directory / Trim(pattern)));
      for (const std::string& file : files) {
        if (!seen_.insert(file).second) continue;
        if (seen_.size() > kMaxLdConfFiles) {
          return BadConfig("ContainerFile",
                           Format("{} in the container includes more than {} files", kLdConf, kMaxLdConfFiles));
        }
        pending_.push_back(file);
      }
    }
    return {};
  }

  const ContainerRoot& root_;
  std::set<std::string> seen_, folders_;
  std::vector<std::string> pending_;
};

}  // namespace

Result<void> EnsureLdConf(const ContainerRoot& root) {
  TESSERA_ASSIGN(const std::optional<UniqueFd> present, root.OpenFile(kLdConf));
  if (present) return {};
  return root.PutFile(kLdConf, Format("include {}/*.conf\n", kLdConfDirectory), 0644);
}

Result<std::set<std::string>> ListedFolders(const ContainerRoot& root) { return LdConfReader(root).Read(); }

Result<void> AddFolders(const ContainerRoot& root, std::string_view prefix, std::span<const std::string> folders) {
  if (folders.empty()) return {};
  const std::string text = Join(folders, "\n") + "\n";
  return root.PutFile(Format("{}/{}-{:016x}.conf", kLdConfDirectory, prefix, Fnv1a(text)), text, 0644);
}

Result<void> CheckFolder(const std::string& folder) {
  if (folder.starts_with('/') && folder.find_first_of("\n#= \t") == std::string::npos) return {};
  return BadConfig("BadArgument", Format("{} cannot be a folder of libraries", Quote(folder)));
}

}  // namespace tessera::hook
