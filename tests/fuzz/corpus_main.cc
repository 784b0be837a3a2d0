// Runs a target over files and folders of inputs, without libFuzzer: the corpus as a test of every build, and a
// finding as a plain program for a debugger.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/fuzz/target.h"

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  std::vector<fs::path> inputs;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) inputs.emplace_back(argv[i]);
    if (!fs::is_directory(argv[i])) continue;
    for (const auto& entry : fs::directory_iterator(argv[i])) inputs.push_back(entry.path());
  }
  std::ranges::sort(inputs);
  for (const fs::path& input : inputs) {
    std::printf("%s\n", input.c_str());
    std::fflush(stdout);  // The last line names the input that ends the program.
    const auto text = tessera::ReadFile(input);
    if (!text) {
      std::fprintf(stderr, "%s\n", text.error().message().c_str());
      return 1;
    }
    tessera::Fuzz(*text);
  }
  if (inputs.empty()) std::fprintf(stderr, "usage: %s FILE|FOLDER...\n", argv[0]);
  return inputs.empty() ? 1 : 0;
}
