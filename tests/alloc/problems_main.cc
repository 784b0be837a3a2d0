// tessera-alloc-problems: prints allocation problems for the oracle, and our answers to compare with its.
//
//   tessera-alloc-problems problems KIND FIRST COUNT   one problem a line, by seed; generator.h names the kinds
//   tessera-alloc-problems answers RELEASE < problems  one answer a line, "short TAB details"
//   tessera-alloc-problems cases FILE                  "releases TAB case TAB wanted TAB details TAB problem" a line
#include <algorithm>
#include <iostream>
#include <iterator>
#include <span>
#include <string>

#include "base/text.h"
#include "tests/alloc/case_file.h"
#include "tests/alloc/generator.h"
#include "tests/alloc/problem.h"

namespace tessera::tests {
namespace {

std::string OneLine(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\n");
  return text;
}

int PrintProblems(const ProblemKind& kind, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::cout << json::PrintJson(kind.generate(seed)) << '\n';
  }
  return 0;
}

int PrintAnswers(std::string_view release) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto value = json::ParseJson(line);
    const auto problem = value ? DecodeProblem(*value) : std::unexpected(value.error());
    if (!problem) {
      std::cerr << problem.error().Text() << '\n';
      return 1;
    }
    const auto outcome = Solve(*problem, RulesOf(*problem, ReleaseOf(release)));
    std::cout << AnswerOf(outcome) << '\t' << OneLine(DetailsOf(outcome)) << '\n' << std::flush;
  }
  return 0;
}

int PrintCases(const std::string& file) {
  const auto cases = ReadCases(file);
  if (!cases) {
    std::cerr << cases.error().Text() << '\n';
    return 1;
  }
  for (const AllocationCase& one : *cases) {
    const std::string steps = one.steps ? Format(" @{}", *one.steps) : "";
    std::cout << Join(one.releases, ",") << '\t' << one.name << '\t'
              << (one.error.empty() ? one.want + steps : OneLine(one.error)) << '\t' << one.details.value_or("") << '\t'
              << json::PrintJson(one.problem) << '\n';
  }
  return 0;
}

int Main(std::span<char*> args) {
  const std::string_view command = args.size() > 1 ? args[1] : "";
  if (command == "problems" && args.size() == 5) {
    const auto* kind = std::ranges::find(kProblemKinds, std::string_view(args[2]), &ProblemKind::name);
    const auto first = ParseNumber<std::uint64_t>(args[3]);
    const auto count = ParseNumber<std::uint64_t>(args[4]);
    if (kind != std::end(kProblemKinds) && first && count) return PrintProblems(*kind, *first, *count);
  }
  if (command == "cases" && args.size() == 3) return PrintCases(args[2]);
  if (command == "answers" && args.size() == 3) return PrintAnswers(args[2]);
  std::cerr << "usage: tessera-alloc-problems problems small|machine FIRST COUNT | answers RELEASE | cases FILE\n";
  return 2;
}

}  // namespace
}  // namespace tessera::tests

int main(int argc, char** argv) { return tessera::tests::Main({argv, static_cast<std::size_t>(argc)}); }
