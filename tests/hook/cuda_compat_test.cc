// enable-cuda-compat: when the image's own libcuda is preferred.
#include <elf.h>
#include <sys/stat.h>

#include <cstring>

#include "base/text.h"
#include "tests/hook/hook_fixture.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

const std::string kFolder = "/usr/local/cuda/compat";

template <class T>
void Append(std::string& bytes, const T& part) {
  bytes.append(reinterpret_cast<const char*>(&part), sizeof part);
}

// A library that consists of a compatibility note and nothing else.
std::string Library(std::string_view json, std::string_view owner = "NVIDIA Corporation",
                    const std::function<void(Elf64_Shdr&)>& change = {}) {
  constexpr std::string_view kNames("\0.note.cuda.fwd_compatibility\0.shstrtab\0", 40);
  std::string note;
  Append(note, Elf64_Nhdr{static_cast<Elf64_Word>(owner.size() + 1), static_cast<Elf64_Word>(json.size()), 1});
  note.append(owner).append(4 - owner.size() % 4, '\0').append(json);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  const std::uint64_t data = sizeof header + 3 * sizeof(Elf64_Shdr);
  Elf64_Shdr section{.sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = data, .sh_size = note.size(), .sh_addralign = 4};
  if (change) change(section);
  std::string bytes;
  Append(bytes, header);
  Append(bytes, Elf64_Shdr{});
  Append(bytes, section);
  Append(bytes,
         Elf64_Shdr{.sh_name = 30, .sh_type = SHT_STRTAB, .sh_offset = data + note.size(), .sh_size = kNames.size()});
  return bytes.append(note).append(kNames);
}

constexpr std::string_view kNote = R"({"Format":1,"CUDA Version":"12.4","Driver":[535,550],"Device":[1,2]})";

TEST_P(HookTest, CompatLibrariesAreUsedWhereNvidiaSaysSo) {
  struct Case {
    std::string name, version, library, driver, cuda;
    bool used;
  };
  const std::string with_note = Library(kNote);
  const std::vector<Case> cases{
      {"note, driver named, compat newer", "550.54.15", with_note, "535.183.01", "", true},
      {"note, driver named, same version", "550.54.15", with_note, "550.54.15", "", false},
      {"note, driver named, compat older", "550.54.15", with_note, "550.90.07", "", false},
      {"note, driver not named", "550.54.15", with_note, "525.60.13", "", false},
      {"note, driver named, CUDA does not count", "550.54.15", with_note, "535.183.01", "13.0", true},
      {"note, only CUDA, older on the host", "550.54.15", with_note, "", "12.2", true},
      {"note, only CUDA, the same", "550.54.15", with_note, "", "12.4", false},
      {"note, only CUDA, newer on the host", "550.54.15", with_note, "", "13.0", false},
      {"no note, next major", "550.54.15", "no library at all", "535.183.01", "", true},
      {"no note, same major", "550.90.07", "", "550.54.15", "", false},
      {"no note, CUDA given", "550.54.15", "", "535.183.01", "12.2", false},
      {"a note of somebody else counts as none", "550.54.15", Library(kNote, "ACME"), "525.60.13", "", true},
      {"a note that is no JSON counts as none", "550.54.15", Library("{"), "525.60.13", "", true},
      {"no version in the name", "x.y", "", "535.183.01", "", false},
      {"no version of the host", "550.54.15", "", "unknown", "", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    for (const auto& entry : fs::directory_iterator(root())) fs::remove_all(entry.path());
    Put(kFolder + "/libcuda.so." + c.version, c.library);
    Link(kFolder + "/libcuda.so.1", "libcuda.so." + c.version);
    const Outcome result =
        Run({"enable-cuda-compat", "--host-driver-version=" + c.driver, "--host-cuda-version", c.cuda});
    EXPECT_EQ(result.code, 0) << result.err;
    const std::vector<std::string> names = Names("/etc/ld.so.conf.d");
    ASSERT_EQ(names.size(), c.used ? 1 : 0);
    EXPECT_EQ(c.used ? Read("/etc/ld.so.conf.d/" + names[0]) : "", c.used ? kFolder + "\n" : "");
  }
}

TEST_P(HookTest, CompatIsEnabledOnce) {
  Put(kFolder + "/libcuda.so.550.54.15", "");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(Run({"enable-cuda-compat", "--host-driver-version=535.1.1"}).code, 0);
  EXPECT_EQ(Names("/etc/ld.so.conf.d").size(), 1);
  EXPECT_LT(Names("/etc/ld.so.conf.d")[0], "00-nvcr") << "it must come before the driver's own folder";
}

TEST_P(HookTest, CompatIgnoresWhatIsNotOneRegularFile) {
  const std::string library = (root() / (kFolder.substr(1) + "/libcuda.so.550.54.15")).string();
  const std::vector<std::pair<std::string, std::function<void()>>> cases{
      {"none", [] {}},
      {"two", [&] { Put(kFolder + "/libcuda.so.550.1.1", ""), Put(kFolder + "/libcuda.so.560.1.1", ""); }},
      {"a FIFO", [&] { ASSERT_EQ(::mkfifo(library.c_str(), 0666), 0); }},
      {"a device", [&] { MakeDevice(kFolder + "/libcuda.so.550.54.15", 1, 5); }},
      {"a directory", [&] { fs::create_directories(library); }},
      {"a link", [&] { Link(kFolder + "/libcuda.so.550.54.15", (outside() / "precious").string()); }},
  };
  for (const auto& [name, make] : cases) {
    SCOPED_TRACE(name);
    fs::remove_all(root() / "usr");
    fs::create_directories(fs::path(library).parent_path());
    make();
    const Outcome result = Run({"enable-cuda-compat", "--host-driver-version=535.1.1"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(Names("/etc"), IsEmpty());
  }
}

TEST_P(HookTest, ALibraryOfTheHostIsNoCompatLibrary) {
  ASSERT_TRUE(ReplaceFile(outside() / "lib/libcuda.so.550.54.15", "").has_value());
  Link("/usr/local/cuda", outside().string());
  Link("/compat", "../../../../../../../../.." + (outside() / "lib").string());
  EXPECT_EQ(Run({"enable-cuda-compat", "--host-driver-version=535.1.1"}).code, 0);
  EXPECT_EQ(Run({"enable-cuda-compat", "--host-driver-version=535.1.1", "--cuda-compat-container-root=/compat"}).code,
            0);
  EXPECT_THAT(Names("/etc"), IsEmpty());
  fs::remove(outside() / "lib/libcuda.so.550.54.15");
}

TEST_P(HookTest, NonsenseInAnElfFileIsNoNote) {
  const auto huge = [](Elf64_Shdr& section) { section.sh_size = std::uint64_t{1} << 40; };
  const auto far = [](Elf64_Shdr& section) { section.sh_offset = ~std::uint64_t{0} - 8; };
  const auto tiny = [](Elf64_Shdr& section) { section.sh_size = 11; };
  const auto name = [](Elf64_Shdr& section) { section.sh_name = ~0U; };
  const std::string whole = Library(kNote);
  std::vector<std::string> libraries{
      Library(kNote, "NVIDIA Corporation", huge), Library(kNote, "NVIDIA Corporation", far),
      Library(kNote, "NVIDIA Corporation", tiny), Library(kNote, "NVIDIA Corporation", name)};
  for (std::size_t size = 0; size < whole.size(); size += 37) libraries.push_back(whole.substr(0, size));
  std::string lengths = whole;
  std::memset(lengths.data() + sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr), 0xff, 8);
  libraries.push_back(lengths);
  for (const std::string& library : libraries) {
    Put(kFolder + "/libcuda.so.550.54.15", library);
    EXPECT_EQ(Run({"enable-cuda-compat", "--host-cuda-version=12.2"}).code, 0);
    EXPECT_THAT(Names("/etc"), IsEmpty());
  }
}

}  // namespace
}  // namespace tessera::tests
