#include "cdi/elf_soname.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "cdi/root_dir.h"

namespace tessera::cdi {
namespace {

// Real libraries of the driver have about 10 segments and 35 dynamic entries.
constexpr std::size_t kMaxSegments = 64, kMaxDynamic = 512, kMaxName = 255;

// Fills `out` from `offset` and returns how many items were there; short at the end of the file.
template <class T>
std::size_t ReadAt(int file, std::uint64_t offset, std::span<T> out) {
  if (offset > std::uint64_t{1} << 62) return 0;
  const ssize_t got = ::pread(file, out.data(), out.size_bytes(), static_cast<off_t>(offset));
  return got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(T);
}

std::vector<Elf64_Phdr> ReadSegments(int file) {
  Elf64_Ehdr header{};
  if (ReadAt(file, 0, std::span(&header, 1)) != 1) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  std::vector<Elf64_Phdr> segments(std::min<std::size_t>(header.e_phnum, kMaxSegments));
  segments.resize(ReadAt(file, header.e_phoff, std::span(segments)));
  return segments;
}

// Where the file holds what the loader maps at `address`.
std::optional<std::uint64_t> FileOffset(std::span<const Elf64_Phdr> segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Find(std::span<const Elf64_Dyn> entries, Elf64_Sxword tag) {
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return std::nullopt;
}

std::optional<std::string> NameAt(int file, std::uint64_t offset) {
  std::string name(kMaxName + 1, '\0');
  name.resize(ReadAt(file, offset, std::span<char>(name)));
  const std::size_t end = name.find('\0');
  if (end == std::string::npos) return std::nullopt;
  name.resize(end);
  if (!IsPlainName(name)) return std::nullopt;
  return name;
}

}  // namespace

std::optional<std::string> ElfSoname(int file) {
  const std::vector<Elf64_Phdr> segments = ReadSegments(file);
  const auto dynamic = std::ranges::find(segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (dynamic == segments.end()) return std::nullopt;
  std::vector<Elf64_Dyn> entries(std::min<std::size_t>(dynamic->p_filesz / sizeof(Elf64_Dyn), kMaxDynamic));
  entries.resize(ReadAt(file, dynamic->p_offset, std::span(entries)));

  const auto name = Find(entries, DT_SONAME);
  const auto strings = Find(entries, DT_STRTAB);
  if (!name || !strings) return std::nullopt;
  const auto offset = FileOffset(segments, *strings + *name);
  return offset ? NameAt(file, *offset) : std::nullopt;
}

}  // namespace tessera::cdi
