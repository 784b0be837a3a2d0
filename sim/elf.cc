#include "sim/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>

#include "base/text.h"

namespace tessera::sim {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kArchitecture = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kArchitecture = EM_AARCH64;
#else
#error "the simulator knows x86-64 and aarch64"
#endif

// ---- Writing.

// The parts of a minimal shared object, in the order of the file. File offsets are addresses as well: one segment maps
// the whole file.
struct Layout {
  Elf64_Ehdr header{};
  Elf64_Phdr segments[3]{};
  Elf64_Sym symbol{};              // Only the empty symbol that every table starts with.
  Elf64_Word hash[4]{1, 1, 0, 0};  // One empty bucket, one symbol.
  Elf64_Dyn dynamic[7]{};
  Elf64_Shdr sections[6]{};
};
static_assert(sizeof(Layout) == 64 + 3 * 56 + 24 + 16 + 7 * 16 + 6 * 64, "no padding between the parts");

constexpr char kSectionNames[] = "\0.dynsym\0.hash\0.dynstr\0.dynamic\0.shstrtab";
enum : Elf64_Word { kNameDynsym = 1, kNameHash = 9, kNameDynstr = 15, kNameDynamic = 23, kNameShstrtab = 32 };

void FillHeader(Elf64_Ehdr& header) {
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = kArchitecture;
  header.e_version = EV_CURRENT;
  header.e_phoff = offsetof(Layout, segments);
  header.e_shoff = offsetof(Layout, sections);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = std::size(Layout{}.segments);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = std::size(Layout{}.sections);
  header.e_shstrndx = header.e_shnum - 1;
}

Elf64_Phdr Segment(Elf64_Word type, std::size_t offset, std::size_t size, std::size_t align) {
  return {.p_type = type,
          .p_flags = PF_R | PF_W,  // Writable: the loader relocates the addresses in the dynamic section in place.
          .p_offset = offset,
          .p_vaddr = offset,
          .p_paddr = offset,
          .p_filesz = size,
          .p_memsz = size,
          .p_align = align};
}

Elf64_Shdr Section(Elf64_Word name, Elf64_Word type, std::size_t offset, std::size_t size, std::size_t item,
                   Elf64_Word link) {
  const bool loaded = type != SHT_STRTAB || name == kNameDynstr;
  return {.sh_name = name,
          .sh_type = type,
          .sh_flags = loaded ? static_cast<Elf64_Xword>(SHF_ALLOC) : 0,
          .sh_addr = loaded ? offset : 0,
          .sh_offset = offset,
          .sh_size = size,
          .sh_link = link,
          .sh_info = type == SHT_DYNSYM ? 1U : 0U,  // The first global symbol.
          .sh_addralign = 1,
          .sh_entsize = item};
}

// ---- Reading. Nothing in the image is believed: every offset is checked before it is used.

std::unexpected<Error> Broken(std::string what) {
  return BadConfig("BadElf", "not a usable shared object: " + std::move(what));
}

// Where the tables of an image are, as file offsets that lie inside it.
struct Tables {
  std::size_t symbols = 0, symbol_count = 0;
  std::string_view strings;
  std::size_t strings_offset = 0;
};

class Image {
 public:
  explicit Image(std::string_view bytes) : bytes_(bytes) {}

  Result<Tables> Find() const;

  template <class T>
  Result<T> Read(std::size_t offset) const {
    TESSERA_TRY(Within(offset, sizeof(T)));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

 private:
  Result<void> Within(std::size_t offset, std::size_t size) const {
    if (offset <= bytes_.size() && size <= bytes_.size() - offset) return {};
    return Broken(Format("it is {} bytes long, but something is said to lie at {}", bytes_.size(), offset));
  }
  Result<std::vector<Elf64_Phdr>> Segments() const;
  // The file offset of a virtual address.
  Result<std::size_t> Locate(std::span<const Elf64_Phdr> segments, Elf64_Addr address) const;
  Result<std::map<Elf64_Sxword, Elf64_Xword>> Dynamic(std::span<const Elf64_Phdr> segments) const;
  // A shared object does not say how many symbols it has; its hash table does.
  Result<std::size_t> CountBySysvHash(std::size_t hash) const;
  Result<std::size_t> CountByGnuHash(std::size_t hash) const;

  const std::string_view bytes_;
};

Result<std::vector<Elf64_Phdr>> Image::Segments() const {
  TESSERA_ASSIGN(const auto header, Read<Elf64_Ehdr>(0));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Broken("no ELF header");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return Broken("not 64-bit little-endian");
  }
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr)) return Broken("not a shared object");
  TESSERA_TRY(Within(header.e_phoff, std::size_t{header.e_phnum} * sizeof(Elf64_Phdr)));
  std::vector<Elf64_Phdr> segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    TESSERA_ASSIGN(segments.emplace_back(), Read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
  }
  return segments;
}

Result<std::size_t> Image::Locate(std::span<const Elf64_Phdr> segments, Elf64_Addr address) const {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const Elf64_Addr inside = address - segment.p_vaddr;
    if (inside >= segment.p_filesz) continue;
    TESSERA_TRY(Within(segment.p_offset, inside));
    return segment.p_offset + inside;
  }
  return Broken(Format("address {:#x} is in no segment of the file", address));
}

Result<std::map<Elf64_Sxword, Elf64_Xword>> Image::Dynamic(std::span<const Elf64_Phdr> segments) const {
  const auto found = std::ranges::find(segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (found == segments.end()) return Broken("no dynamic segment");
  std::map<Elf64_Sxword, Elf64_Xword> entries;
  for (std::size_t i = 0; i < found->p_filesz / sizeof(Elf64_Dyn); ++i) {
    TESSERA_TRY(Within(found->p_offset, 0));
    TESSERA_ASSIGN(const auto entry, Read<Elf64_Dyn>(found->p_offset + i * sizeof(Elf64_Dyn)));
    if (entry.d_tag == DT_NULL) break;
    entries.emplace(entry.d_tag, entry.d_un.d_val);
  }
  return entries;
}

Result<std::size_t> Image::CountBySysvHash(std::size_t hash) const {
  return Read<Elf64_Word>(hash + sizeof(Elf64_Word));  // The number of chains.
}

Result<std::size_t> Image::CountByGnuHash(std::size_t hash) const {
  struct Header {
    Elf64_Word buckets, first_symbol, bloom_words, bloom_shift;
  };
  TESSERA_ASSIGN(const auto header, Read<Header>(hash));
  const std::size_t buckets = hash + sizeof header + std::size_t{header.bloom_words} * 8;
  const std::size_t chains = buckets + std::size_t{header.buckets} * 4;
  TESSERA_TRY(Within(buckets, std::size_t{header.buckets} * 4));
  std::size_t last = 0;  // The symbol that the last non-empty bucket starts with …
  for (std::size_t i = 0; i < header.buckets; ++i) {
    TESSERA_ASSIGN(const auto symbol, Read<Elf64_Word>(buckets + i * 4));
    last = std::max<std::size_t>(last, symbol);
  }
  if (last < header.first_symbol) return header.first_symbol;
  for (;; ++last) {  // … and from there on to the end of its chain, which has the lowest bit set.
    TESSERA_ASSIGN(const auto value, Read<Elf64_Word>(chains + (last - header.first_symbol) * 4));
    if ((value & 1U) != 0) return last + 1;
  }
}

Result<Tables> Image::Find() const {
  TESSERA_ASSIGN(const auto segments, Segments());
  TESSERA_ASSIGN(const auto dynamic, Dynamic(segments));
  const auto locate = [&](Elf64_Sxword tag, std::string_view what) -> Result<std::size_t> {
    const auto entry = dynamic.find(tag);
    if (entry == dynamic.end()) return Broken(Format("no {}", what));
    return Locate(segments, entry->second);
  };
  Tables tables;
  TESSERA_ASSIGN(tables.symbols, locate(DT_SYMTAB, "symbol table"));
  TESSERA_ASSIGN(tables.strings_offset, locate(DT_STRTAB, "string table"));
  const auto size = dynamic.find(DT_STRSZ);
  if (size == dynamic.end()) return Broken("no size of the string table");
  TESSERA_TRY(Within(tables.strings_offset, size->second));
  tables.strings = bytes_.substr(tables.strings_offset, size->second);
  if (dynamic.contains(DT_GNU_HASH)) {
    TESSERA_ASSIGN(const std::size_t hash, locate(DT_GNU_HASH, "hash table"));
    TESSERA_ASSIGN(tables.symbol_count, CountByGnuHash(hash));
  } else {
    TESSERA_ASSIGN(const std::size_t hash, locate(DT_HASH, "hash table"));
    TESSERA_ASSIGN(tables.symbol_count, CountBySysvHash(hash));
  }
  TESSERA_TRY(Within(tables.symbols, tables.symbol_count * sizeof(Elf64_Sym)));
  return tables;
}

struct NamedSymbol {
  std::string_view name;
  std::size_t name_offset = 0;  // Into the image.
  bool defined = false;         // For others to use.
};

bool IsDefined(const Elf64_Sym& symbol) {
  const auto bind = ELF64_ST_BIND(symbol.st_info);
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return symbol.st_shndx != SHN_UNDEF && bind != STB_LOCAL && visibility != STV_HIDDEN && visibility != STV_INTERNAL;
}

// All named symbols, defined here or elsewhere.
Result<std::vector<NamedSymbol>> ReadSymbols(std::string_view bytes) {
  const Image image(bytes);
  TESSERA_ASSIGN(const Tables tables, image.Find());
  std::vector<NamedSymbol> symbols;
  for (std::size_t i = 0; i < tables.symbol_count; ++i) {
    TESSERA_ASSIGN(const auto symbol, image.Read<Elf64_Sym>(tables.symbols + i * sizeof(Elf64_Sym)));
    const std::size_t end = tables.strings.find('\0', symbol.st_name);
    if (end == std::string_view::npos) return Broken(Format("the name of symbol {} has no end", i));
    if (end == symbol.st_name) continue;
    symbols.push_back({.name = tables.strings.substr(symbol.st_name, end - symbol.st_name),
                       .name_offset = tables.strings_offset + symbol.st_name,
                       .defined = IsDefined(symbol)});
  }
  return symbols;
}

}  // namespace

std::string MakeSharedObject(std::string_view soname) {
  const std::string strings = '\0' + std::string(soname) + '\0';
  const std::string_view names(kSectionNames, sizeof kSectionNames);
  const std::size_t strings_at = sizeof(Layout), names_at = strings_at + strings.size();

  Layout file;
  FillHeader(file.header);
  // 64 KiB is the largest page of either architecture.
  file.segments[0] = Segment(PT_LOAD, 0, names_at, 0x10000);
  file.segments[1] = Segment(PT_DYNAMIC, offsetof(Layout, dynamic), sizeof file.dynamic, 8);
  file.segments[2] = Segment(PT_GNU_STACK, 0, 0, 16);  // Without it the loader makes stacks executable.

  const std::pair<Elf64_Sxword, Elf64_Xword> dynamic[] = {{DT_SONAME, 1},
                                                          {DT_HASH, offsetof(Layout, hash)},
                                                          {DT_STRTAB, strings_at},
                                                          {DT_SYMTAB, offsetof(Layout, symbol)},
                                                          {DT_STRSZ, strings.size()},
                                                          {DT_SYMENT, sizeof(Elf64_Sym)},
                                                          {DT_NULL, 0}};
  static_assert(std::size(dynamic) == std::size(Layout{}.dynamic));
  for (std::size_t i = 0; i < std::size(dynamic); ++i) {
    file.dynamic[i] = {.d_tag = dynamic[i].first, .d_un = {.d_val = dynamic[i].second}};
  }

  // The loader needs no sections, but Go's debug/elf reads the SONAME through them.
  file.sections[1] = Section(kNameDynsym, SHT_DYNSYM, offsetof(Layout, symbol), sizeof file.symbol, 24, 3);
  file.sections[2] = Section(kNameHash, SHT_HASH, offsetof(Layout, hash), sizeof file.hash, 4, 1);
  file.sections[3] = Section(kNameDynstr, SHT_STRTAB, strings_at, strings.size(), 0, 0);
  file.sections[4] = Section(kNameDynamic, SHT_DYNAMIC, offsetof(Layout, dynamic), sizeof file.dynamic, 16, 3);
  file.sections[5] = Section(kNameShstrtab, SHT_STRTAB, names_at, names.size(), 0, 0);

  std::string bytes(sizeof file, '\0');
  std::memcpy(bytes.data(), &file, sizeof file);
  return bytes.append(strings).append(names);
}

Result<std::vector<std::string>> DynamicSymbols(std::string_view image) {
  TESSERA_ASSIGN(const auto symbols, ReadSymbols(image));
  std::vector<std::string> names;
  for (const NamedSymbol& symbol : symbols) {
    if (symbol.defined) names.emplace_back(symbol.name);
  }
  return names;
}

Result<void> HideSymbols(std::string& image, std::span<const std::string> names) {
  TESSERA_ASSIGN(const auto symbols, ReadSymbols(image));
  std::set<std::string_view> missing(names.begin(), names.end());
  const std::set<std::string_view> wanted = missing;
  std::set<std::size_t> changed;
  for (const NamedSymbol& symbol : symbols) {
    if (!symbol.defined || !wanted.contains(symbol.name)) continue;
    missing.erase(symbol.name);
    changed.insert(symbol.name_offset);
  }
  if (!missing.empty()) {
    return BadConfig("SymbolNotFound", Format("the library has no symbol {} to hide", Quote(*missing.begin())));
  }
  // Linkers let one name be the tail of another. Then one letter would change both.
  for (const NamedSymbol& symbol : symbols) {
    const auto next = changed.lower_bound(symbol.name_offset);
    if (next == changed.end() || *next >= symbol.name_offset + symbol.name.size()) continue;
    if (symbol.defined && wanted.contains(symbol.name)) continue;
    return BadConfig("SymbolShared", Format("hiding a symbol would rename {} as well", Quote(symbol.name)));
  }
  // The hash tables still lead to the symbol, and the comparison of names then fails.
  for (const std::size_t offset : changed) image[offset] = image[offset] == '_' ? 'X' : '_';
  return {};
}

}  // namespace tessera::sim
