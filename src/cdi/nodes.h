// cdi/nodes.h: what the base spec and the claims' specs have in common.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cdi/driver_files.h"
#include "cdi/root_dir.h"
#include "cdi/spec.h"

namespace tessera::cdi {

// `path` of a root as the container runtime sees it: with the root's place on the host in front.
std::string OnHost(const std::filesystem::path& host_root, std::string_view path);

// Where a file of the driver is below its root; `path` is the container's.
const std::string& RealPath(const DriverFiles& files, const std::string& path);

// Adds the node as the host has it: numbers, mode and group when it is a device. A group that others than its members
// need is given to the container's process.
void AddNode(const Roots& roots, std::string path, const struct stat& status, Edits& edits);

// A createContainer hook of ours: "<program> <command> <arguments…>".
Hook MakeHook(const std::string& program, std::vector<std::string> command);

// create-symlinks for these.
Hook MakeLinksHook(const std::string& program, const std::vector<DriverFiles::Link>& links);

}  // namespace tessera::cdi
