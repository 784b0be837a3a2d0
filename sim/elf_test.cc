#include "sim/elf.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/fd.h"
#include "sim/symbols.h"
#include "tests/support/paths.h"

namespace tessera::sim {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

Library Load(const fs::path& path) {
  Library library(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  EXPECT_NE(library, nullptr) << ::dlerror();
  return library;
}

// The same functions (symbols.inc), linked with one kind of hash table each.
std::string Sample(std::string_view hash_style) {
  const auto image =
      ReadFile(fs::path(TESSERA_BINARY_DIR) / "tests" / ("libelf_sample_" + std::string(hash_style) + ".so"));
  EXPECT_TRUE(image.has_value()) << image.error().Text();
  return image.value_or("");
}

class Elf : public ::testing::Test {
 protected:
  fs::path Put(std::string_view name, std::string_view image) {
    const fs::path path = dir_.path() / name;
    EXPECT_TRUE(ReplaceFile(path, image, 0755).has_value());
    return path;
  }
  const TempDir dir_ = TempDir::Create("elf-test").value();
};

int RunProgram(const char* program, const char* argument, const fs::path& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(program, program, argument, path.c_str(), nullptr);
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Elf, MadeSharedObjectLoadsAndHasNoSymbols) {
  for (const std::string_view soname : {"libcuda.so.1", "libnvidia-pkcs11-openssl3.so.580.159.04", "l"}) {
    SCOPED_TRACE(soname);
    const std::string image = MakeSharedObject(soname);
    EXPECT_EQ(DynamicSymbols(image).value(), std::vector<std::string>{});
    const Library library = Load(Put("made.so", image));
    EXPECT_EQ(::dlsym(library.get(), "nvmlInit_v2"), nullptr);
  }
}

TEST_F(Elf, LdconfigLinksTheSonameOfAMadeSharedObject) {
  Put("libcuda.so.580.159.04", MakeSharedObject("libcuda.so.1"));
  const int exit = RunProgram("/sbin/ldconfig", "-n", dir_.path());
  if (exit == 127) GTEST_SKIP() << "no ldconfig here";
  ASSERT_EQ(exit, 0);
  EXPECT_EQ(fs::read_symlink(dir_.path() / "libcuda.so.1"), "libcuda.so.580.159.04");
}

TEST_F(Elf, FindsEverySymbolOfEitherHashTable) {
  for (const std::string_view style : {"gnu", "sysv"}) {
    SCOPED_TRACE(style);
    const auto found = DynamicSymbols(Sample(style));
    ASSERT_TRUE(found.has_value()) << found.error().Text();
    for (const Symbol& symbol : AllSymbols()) EXPECT_THAT(*found, Contains(symbol.name));
  }
}

TEST_F(Elf, HiddenSymbolsAreGoneAndTheOthersWork) {
  for (const std::string style : {"gnu", "sysv"}) {
    SCOPED_TRACE(style);
    const std::string original = Sample(style);
    std::string image = original;
    const auto hidden = SymbolsAfter("12.0");
    ASSERT_GT(hidden.size(), 50U);
    const auto done = HideSymbols(image, hidden);
    ASSERT_TRUE(done.has_value()) << done.error().Text();

    const Library before = Load(Put("before-" + style, original));
    const Library after = Load(Put("after-" + style, image));
    for (const Symbol& symbol : AllSymbols()) {
      const std::string name(symbol.name);
      EXPECT_NE(::dlsym(before.get(), name.c_str()), nullptr) << name;
      const bool gone = std::ranges::find(hidden, name) != hidden.end();
      EXPECT_EQ(::dlsym(after.get(), name.c_str()) == nullptr, gone) << name;
    }
    const auto call = [](const Library& library) {
      return reinterpret_cast<int (*)()>(::dlsym(library.get(), "nvmlInit_v2"))();
    };
    EXPECT_EQ(call(before), call(after));
    EXPECT_THAT(DynamicSymbols(image).value(), Not(Contains(hidden.front())));
  }
}

TEST_F(Elf, HidingAnUnknownOrHiddenNameIsAnErrorAndChangesNothing) {
  std::string image = Sample("gnu");
  const std::vector<std::string> names{"nvmlInit_v2", "nvmlNoSuchThing"};
  const std::string before = image;
  const auto unknown = HideSymbols(image, names);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message(), HasSubstr("nvmlNoSuchThing"));
  EXPECT_EQ(image, before);

  ASSERT_TRUE(HideSymbols(image, std::span(names).first(1)).has_value());
  EXPECT_EQ(HideSymbols(image, std::span(names).first(1)).error().code(), "SymbolNotFound");
  EXPECT_TRUE(HideSymbols(image, {}).has_value());
}

TEST_F(Elf, RefusesWhatIsNoSharedObject) {
  const std::string good = MakeSharedObject("libcuda.so.1");
  struct Case {
    std::string_view name;
    std::size_t offset;
    char byte;
  };
  for (const Case& c : {Case{"magic", 0, 'X'}, Case{"32 bit", 4, 1}, Case{"big endian", 5, 2},
                        Case{"an executable", 16, 2}, Case{"segment size", 54, 1}}) {
    SCOPED_TRACE(c.name);
    std::string image = good;
    image[c.offset] = c.byte;
    EXPECT_EQ(DynamicSymbols(image).error().code(), "BadElf");
    EXPECT_EQ(HideSymbols(image, {}).error().code(), "BadElf");
  }
  EXPECT_FALSE(DynamicSymbols("").has_value());
  EXPECT_FALSE(DynamicSymbols("#!/bin/sh\n").has_value());
  EXPECT_FALSE(DynamicSymbols(std::string(4096, '\xff')).has_value());
}

TEST_F(Elf, EveryTruncationIsAnErrorOrHarmless) {
  const std::string made = MakeSharedObject("libcuda.so.1");
  for (std::size_t size = 0; size < made.size(); ++size) {
    // Copied, so that the address sanitizer sees a read beyond the end.
    const std::vector<char> cut(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(size));
    const auto symbols = DynamicSymbols({cut.data(), cut.size()});
    if (symbols.has_value()) {
      EXPECT_TRUE(symbols->empty());
    }
  }
  const std::string sample = Sample("gnu");
  const std::size_t all = DynamicSymbols(sample).value().size();
  for (std::size_t size = 0; size < sample.size(); size += size < 4096 ? 1 : 509) {
    const std::vector<char> cut(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(size));
    const auto symbols = DynamicSymbols({cut.data(), cut.size()});
    if (symbols.has_value()) {
      EXPECT_EQ(symbols->size(), all);
    }
  }
}

TEST_F(Elf, EveryFlippedBitIsAnErrorOrHarmless) {
  const std::string made = MakeSharedObject("libcuda.so.1");
  for (std::size_t bit = 0; bit < made.size() * 8; ++bit) {
    std::string image = made;
    image[bit / 8] = static_cast<char>(image[bit / 8] ^ (1 << (bit % 8)));
    (void)DynamicSymbols(image);
    (void)HideSymbols(image, {});
  }
  // In a real one, the header, the segments and the start of the tables.
  const std::string sample = Sample("gnu");
  const std::vector<std::string> names{"nvmlInit_v2"};
  for (std::size_t bit = 0; bit < std::size_t{2048} * 8; bit += 3) {
    std::string image = sample;
    image[bit / 8] = static_cast<char>(image[bit / 8] ^ (1 << (bit % 8)));
    (void)HideSymbols(image, names);
  }
}

}  // namespace
}  // namespace tessera::sim
