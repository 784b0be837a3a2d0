// tests/explain/situations.h: tests/testdata/explain/*.yaml, situations that people write down. The first line of each
// is the command; the .txt beside it is what the command prints, and its exit code.
#pragma once

#include <string>
#include <vector>

namespace tessera::tests {

// The file's full path.
std::string SituationFile(const std::string& name);

// Their names, "held" for held.yaml.
std::vector<std::string> Situations();

// The words of a situation's command after "tessera", with full paths; its own file can be another.
std::vector<std::string> CommandOf(const std::string& name, const std::string& own_file = {});

}  // namespace tessera::tests
