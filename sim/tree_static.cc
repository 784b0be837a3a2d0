// What the driver's packages install: it changes only with the driver's version.
#include <array>

#include "base/fd.h"
#include "base/text.h"
#include "json/value.h"
#include "sim/elf.h"
#include "sim/store.h"
#include "sim/symbols.h"
#include "sim/tree_parts.h"

namespace tessera::sim {
namespace {

constexpr std::size_t kMaxProgramSize = std::size_t{256} << 20;  // With debug information and sanitizers.

struct DriverLibrary {
  std::string_view name;       // File name up to ".so".
  std::string_view interface;  // The number of the SONAME; empty: the SONAME ends in the driver's version.
  bool plain_link = false;     // "libcuda.so" exists as well.
};

constexpr std::array kLibraries{
    DriverLibrary{"libcuda", "1", true},
    DriverLibrary{"libcudadebugger", "1"},
    DriverLibrary{"libnvcuvid", "1"},
    DriverLibrary{"libnvidia-allocator", "1"},
    DriverLibrary{"libnvidia-cfg", "1"},
    DriverLibrary{"libnvidia-encode", "1"},
    DriverLibrary{"libnvidia-fbc", "1"},
    DriverLibrary{"libnvidia-gpucomp", ""},
    DriverLibrary{"libnvidia-ngx", "1"},
    DriverLibrary{"libnvidia-nvvm", "4"},
    DriverLibrary{"libnvidia-opencl", "1"},
    DriverLibrary{"libnvidia-opticalflow", "1", true},
    DriverLibrary{"libnvidia-pkcs11-openssl3", ""},
    DriverLibrary{"libnvidia-ptxjitcompiler", "1"},
    DriverLibrary{"libnvoptix", "1"},
    DriverLibrary{"libEGL_nvidia", "0"},
    DriverLibrary{"libGLESv1_CM_nvidia", "1"},
    DriverLibrary{"libGLESv2_nvidia", "2"},
    DriverLibrary{"libGLX_nvidia", "0"},
    DriverLibrary{"libnvidia-eglcore", ""},
    DriverLibrary{"libnvidia-glcore", ""},
    DriverLibrary{"libnvidia-glsi", ""},
    DriverLibrary{"libnvidia-glvkspirv", ""},
    DriverLibrary{"libnvidia-rtcore", ""},
    DriverLibrary{"libnvidia-tls", ""},
    DriverLibrary{"vdpau/libvdpau_nvidia", "1"},
};

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

void AddPlaceholder(Folder& libraries, const DriverLibrary& library, const std::string& version) {
  const std::string base = Format("{}.so", library.name);
  const std::string file = Format("{}.{}", FileName(base), version);
  const std::string soname = library.interface.empty() ? file : Format("{}.{}", FileName(base), library.interface);
  Add(libraries, Format("{}.{}", base, version), File{MakeSharedObject(soname), 0755});
  if (soname != file) Add(libraries, Format("{}.{}", base, library.interface), Link{file});
  if (library.plain_link) Add(libraries, base, Link{soname});
}

// The simulated NVML, as old as the driver it plays.
Result<File> NvmlLibrary(const Machine& machine, const std::filesystem::path& library) {
  TESSERA_ASSIGN(std::string image, ReadFile(library, kMaxProgramSize));
  if (auto hidden = HideSymbols(image, SymbolsAfter(machine.nvml_header)); !hidden.has_value()) {
    return std::unexpected(std::move(hidden).error().Wrap("making an older NVML of " + library.string()));
  }
  return File{std::move(image), 0755};
}

Result<void> AddLibraries(Folder& usr, const Machine& machine, const std::filesystem::path& library) {
  Folder& libraries = SubFolder(usr, Format("lib/{}-linux-gnu", kArchitectureName));
  const std::string& version = machine.driver_version;
  // What an earlier driver version left here would be mounted into containers.
  libraries.owned.emplace_back("libnvidia-ml.so");
  for (const DriverLibrary& other : kLibraries) {
    AddPlaceholder(libraries, other, version);
    if (FileName(other.name) == other.name) libraries.owned.push_back(Format("{}.so", other.name));
  }
  SubFolder(libraries, "vdpau").owned.emplace_back("libvdpau_nvidia.so");
  TESSERA_ASSIGN(Folder::Entry nvml, NvmlLibrary(machine, library));
  Add(libraries, "libnvidia-ml.so." + version, std::move(nvml));
  Add(libraries, "libnvidia-ml.so.1", Link{"libnvidia-ml.so." + version});
  return {};
}

Result<void> AddPrograms(Folder& usr, const std::filesystem::path& nvidia_smi) {
  constexpr std::array<std::string_view, 6> kPlaceholders{
      "nvidia-debugdump",       "nvidia-persistenced", "nvidia-cuda-mps-control",
      "nvidia-cuda-mps-server", "nvidia-imex",         "nvidia-imex-ctl"};
  for (const std::string_view name : kPlaceholders) {
    Add(usr, Format("bin/{}", name),
        File{Format("#!/bin/sh\necho '{}: a placeholder of the Tessera simulator'\n", name), 0755});
  }
  if (nvidia_smi.empty()) return {};
  TESSERA_ASSIGN(std::string program, ReadFile(nvidia_smi, kMaxProgramSize));
  Add(usr, "bin/nvidia-smi", File{std::move(program), 0755});
  return {};
}

void AddFirmware(Folder& top, const std::string& version) {
  Folder& firmware = SubFolder(top, "lib/firmware");
  firmware.owned = {"nvidia"};
  for (const std::string_view name : {"gsp_ga10x.bin", "gsp_tu10x.bin"}) {
    Add(firmware, Format("nvidia/{}/{}", version, name), File{Format("Tessera simulator: {} {}\n", name, version)});
  }
}

// Small files that CDI generators look for.
void AddConfiguration(Folder& top, const std::string& version) {
  const auto loader_file = [](std::string_view library) {
    return File{Format("{{\"file_format_version\": \"1.0.0\", \"ICD\": {{\"library_path\": \"{}\"}}}}\n", library),
                0644};
  };
  Add(top, "etc/OpenCL/vendors/nvidia.icd", File{"libnvidia-opencl.so.1\n", 0644});
  Add(top, "etc/vulkan/icd.d/nvidia_icd.json", loader_file("libGLX_nvidia.so.0"));
  Add(top, "usr/share/glvnd/egl_vendor.d/10_nvidia.json", loader_file("libEGL_nvidia.so.0"));
  Add(top, "usr/share/nvidia/nvoptix.bin", File{Format("Tessera simulator: nvoptix.bin {}\n", version), 0644});
}

void AddSockets(Folder& top, const Machine& machine) {
  Add(top, "run/nvidia-persistenced/socket", Socket{});
  if (!machine.switches.empty()) Add(top, "run/nvidia-fabricmanager/socket", Socket{});
}

// The one thing a container needs beyond what a real GPU needs: the state, at the place where the library looks.
std::string CdiFile(const std::filesystem::path& root) {
  const std::string state = '/' + std::string(kStateDir);
  const json::Value spec = {
      {"cdiVersion", "0.5.0"},
      {"kind", "tessera-sim/state"},
      {"devices",
       {{{"name", "all"},
         {"containerEdits",
          {{"mounts",
            {{{"hostPath", (root / kStateDir).string()},
              {"containerPath", state},
              {"options", json::Array{"nosuid", "nodev", "rbind", "rprivate"}}}}}}}}}},
  };
  return json::PrintYaml(spec);
}

}  // namespace

Result<void> AddStatic(Folder& top, const std::filesystem::path& root, const Machine& machine,
                       const TreeOptions& options) {
  Folder& usr = SubFolder(top, "usr");
  TESSERA_TRY(AddLibraries(usr, machine, options.library));
  TESSERA_TRY(AddPrograms(usr, options.nvidia_smi));
  AddFirmware(top, machine.driver_version);
  AddConfiguration(top, machine.driver_version);
  AddSockets(top, machine);
  Add(top, "etc/cdi/tessera-sim.yaml", File{CdiFile(root), 0644});
  return {};
}

}  // namespace tessera::sim
