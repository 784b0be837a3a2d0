#include "inspect/explain_spelling.h"

#include <set>

#include "base/text.h"

namespace tessera::inspect {
namespace {

class SpellChecker {
 public:
  SpellChecker(const Situation& situation, cel::SelectorCache& selectors) : selectors_(selectors) {
    for (std::uint32_t i = 0; i < situation.slices->size(); ++i) {
      for (const cel::DeviceFacts& facts : situation.inventory->Slice(i).facts) devices_.push_back(&facts);
    }
  }

  // `like` says whose selectors they are.
  void Check(const std::vector<api::Selector>& list, const Misspelling& like) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string text = list[i].cel.value_or("");
      const auto selector = selectors_.Get(text);
      if (!selector.has_value()) continue;  // What does not compile has an error of its own.
      auto unknown = cel::FindUnknownNames(*selector, devices_);
      if (unknown.empty()) continue;
      Misspelling& added = found_.emplace_back(like);
      added.selector = i;
      added.expression = text;
      added.unknown = std::move(unknown);
    }
  }

  std::vector<Misspelling> Take() { return std::move(found_); }

 private:
  cel::SelectorCache& selectors_;
  std::vector<const cel::DeviceFacts*> devices_;
  std::vector<Misspelling> found_;
};

}  // namespace

std::vector<Misspelling> FindMisspellings(const Situation& situation, cel::SelectorCache& selectors) {
  SpellChecker checker(situation, selectors);
  std::set<std::string> classes;
  for (const NamedRequest& named : AllRequests(situation)) {
    const std::string& name = named.request->device_class;
    if (const auto found = situation.classes.find(name);
        found != situation.classes.end() && classes.insert(name).second) {
      checker.Check(found->second.selectors, {.owner = Format("class {}", name), .device_class = name});
    }
    checker.Check(named.request->selectors, {.owner = named.name, .place = named.place});
  }
  return checker.Take();
}

std::string ToText(const Misspelling& misspelling) {
  std::string text = Format("selector {} of {}:", misspelling.selector, misspelling.owner);
  for (const cel::UnknownName& unknown : misspelling.unknown) {
    text += "\n" + cel::Render(misspelling.expression, unknown);
  }
  return text;
}

}  // namespace tessera::inspect
