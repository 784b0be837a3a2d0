#include "cdi/elf_soname.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "sim/elf.h"
#include "tests/support/paths.h"

namespace tessera::cdi {
namespace {

class ElfSonameTest : public ::testing::Test {
 protected:
  std::optional<std::string> Soname(std::string_view image) {
    const UniqueFd file{::memfd_create("library", MFD_CLOEXEC)};
    EXPECT_TRUE(WriteAll(file.get(), image).has_value());
    return ElfSoname(file.get());
  }
};

TEST_F(ElfSonameTest, ReadsTheNameOfALibrary) {
  EXPECT_EQ(Soname(sim::MakeSharedObject("libcuda.so.1")), "libcuda.so.1");
}

TEST_F(ElfSonameTest, ReadsWhatALinkerMade) {
  const UniqueFd file{::open(TESSERA_BINARY_DIR "/lib/tessera/sim/libnvidia-ml.so.1", O_RDONLY | O_CLOEXEC)};
  EXPECT_EQ(ElfSoname(file.get()), "libnvidia-ml.so.1");
}

TEST_F(ElfSonameTest, AnythingElseHasNone) {
  for (const std::string_view text : {"", "x", "\177ELF", "#!/bin/sh\n"}) {
    EXPECT_EQ(Soname(text), std::nullopt) << text;
  }
  EXPECT_EQ(ElfSoname(-1), std::nullopt);
  const UniqueFd directory{::open("/", O_RDONLY | O_CLOEXEC)};
  EXPECT_EQ(ElfSoname(directory.get()), std::nullopt);
}

TEST_F(ElfSonameTest, ANameIsAFileName) {
  for (const char* name : {"../../etc/passwd", "a b", "..", "", "a::b"}) {
    EXPECT_EQ(Soname(sim::MakeSharedObject(name)), std::nullopt) << name;
  }
  EXPECT_EQ(Soname(sim::MakeSharedObject(std::string(255, 'a'))), std::string(255, 'a'));
  EXPECT_EQ(Soname(sim::MakeSharedObject(std::string(256, 'a'))), std::nullopt);
}

TEST_F(ElfSonameTest, DamageNeverHarms) {
  const std::string image = sim::MakeSharedObject("libcuda.so.1");
  for (std::size_t size = 0; size < image.size(); ++size) Soname(image.substr(0, size));
  for (std::size_t at = 0; at < image.size(); ++at) {
    for (const char byte : {'\0', '\x01', '\x7F', '\xFF'}) {
      std::string damaged = image;
      damaged[at] = byte;
      EXPECT_LE(Soname(damaged).value_or("").size(), 255U);
    }
  }
}

}  // namespace
}  // namespace tessera::cdi
