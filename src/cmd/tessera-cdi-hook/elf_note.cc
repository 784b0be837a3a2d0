#include "cmd/tessera-cdi-hook/elf_note.h"

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <string_view>

namespace tessera::hook {
namespace {

constexpr std::string_view kSection = ".note.cuda.fwd_compatibility";
constexpr std::string_view kOwner = "NVIDIA Corporation";
constexpr std::uint64_t kMaxNote = std::uint64_t{64} << 10;
constexpr unsigned kMaxSections = 1024;

bool ReadAt(int file, std::uint64_t offset, void* out, std::size_t size) {
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) return false;
  return ::pread(file, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

std::optional<Elf64_Shdr> SectionAt(int file, const Elf64_Ehdr& header, unsigned index) {
  Elf64_Shdr section{};
  if (!ReadAt(file, header.e_shoff + index * sizeof section, &section, sizeof section)) return std::nullopt;
  return section;
}

std::optional<Elf64_Shdr> FindNote(int file) {
  Elf64_Ehdr header{};
  if (!ReadAt(file, 0, &header, sizeof header)) return std::nullopt;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  if (header.e_shnum > kMaxSections || header.e_shstrndx >= header.e_shnum) return std::nullopt;
  const auto names = SectionAt(file, header, header.e_shstrndx);
  if (!names) return std::nullopt;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = SectionAt(file, header, i);
    if (!section) return std::nullopt;
    char name[kSection.size() + 1];
    if (section->sh_type != SHT_NOTE) continue;
    if (!ReadAt(file, names->sh_offset + section->sh_name, name, sizeof name)) continue;
    if (std::string_view(name, kSection.size()) == kSection && name[kSection.size()] == '\0') return section;
  }
  return std::nullopt;
}

std::string_view WithoutZeros(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<std::string> CompatibilityNote(int file) {
  const auto section = FindNote(file);
  if (!section || section->sh_size > kMaxNote) return std::nullopt;
  std::string bytes(section->sh_size, '\0');
  Elf64_Nhdr note{};
  if (bytes.size() < sizeof note || !ReadAt(file, section->sh_offset, bytes.data(), bytes.size())) return std::nullopt;
  std::memcpy(&note, bytes.data(), sizeof note);
  const std::uint64_t align = section->sh_addralign == 8 ? 8 : 4;
  const std::uint64_t text_at = sizeof note + (std::uint64_t{note.n_namesz} + align - 1) / align * align;
  if (text_at > bytes.size() || note.n_descsz > bytes.size() - text_at) return std::nullopt;
  const std::string_view all = bytes;
  if (WithoutZeros(all.substr(sizeof note, note.n_namesz)) != kOwner) return std::nullopt;
  return std::string(WithoutZeros(all.substr(text_at, note.n_descsz)));
}

}  // namespace tessera::hook
