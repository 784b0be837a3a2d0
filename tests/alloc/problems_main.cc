// tessera-alloc-problems: prints allocation problems for the oracle, and our answers to compare with its.
//
//   tessera-alloc-problems problems FIRST COUNT        one problem a line, by seed
//   tessera-alloc-problems answers RELEASE < problems  one answer a line, "short TAB details"
#include <iostream>
#include <span>
#include <string>

#include "base/text.h"
#include "tests/alloc/generator.h"
#include "tests/alloc/problem.h"

namespace tessera::tests {
namespace {

int PrintProblems(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::cout << json::PrintJson(GenerateProblem(seed)) << '\n';
  }
  return 0;
}

int PrintAnswers(std::string_view release) {
  const alloc::Rules rules = alloc::RulesFor(ReleaseOf(release));
  for (std::string line; std::getline(std::cin, line);) {
    const auto value = json::ParseJson(line);
    const auto problem = value ? DecodeProblem(*value) : std::unexpected(value.error());
    if (!problem) {
      std::cerr << problem.error().Text() << '\n';
      return 1;
    }
    const auto outcome = Solve(*problem, rules);
    std::string details = DetailsOf(outcome);
    for (std::size_t at = 0; (at = details.find('\n', at)) != std::string::npos; at += 2) details.replace(at, 1, "\\n");
    std::cout << AnswerOf(outcome) << '\t' << details << '\n';
  }
  return 0;
}

int Main(std::span<char*> args) {
  const std::string_view command = args.size() > 1 ? args[1] : "";
  if (command == "problems" && args.size() == 4) {
    const auto first = ParseNumber<std::uint64_t>(args[2]);
    const auto count = ParseNumber<std::uint64_t>(args[3]);
    if (first && count) return PrintProblems(*first, *count);
  }
  if (command == "answers" && args.size() == 3) return PrintAnswers(args[2]);
  std::cerr << "usage: tessera-alloc-problems problems FIRST COUNT | answers RELEASE\n";
  return 2;
}

}  // namespace
}  // namespace tessera::tests

int main(int argc, char** argv) { return tessera::tests::Main({argv, static_cast<std::size_t>(argc)}); }
