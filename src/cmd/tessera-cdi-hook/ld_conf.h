// ld_conf.h: the configuration of the container's dynamic loader, in /etc/ld.so.conf and /etc/ld.so.conf.d.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "cmd/tessera-cdi-hook/container_root.h"

namespace tessera::hook {

// Makes /etc/ld.so.conf where the image has none (distroless).
Result<void> EnsureLdConf(const ContainerRoot& root);

// The folders that /etc/ld.so.conf and the files it includes name. What ldconfig would hang on is an error.
Result<std::set<std::string>> ListedFolders(const ContainerRoot& root);

// Adds /etc/ld.so.conf.d/<prefix>-<hash>.conf with `folders`; the same folders give the same file. ldconfig reads the
// files sorted by name, so the prefix is the rank: 00-compat, 00-nvcr, …, zz-nvcr.
Result<void> AddFolders(const ContainerRoot& root, std::string_view prefix, std::span<const std::string> folders);

// A folder comes from a spec and becomes a line of a file.
Result<void> CheckFolder(const std::string& folder);

}  // namespace tessera::hook
