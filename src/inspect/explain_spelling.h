// inspect/explain_spelling.h: attributes and capacities that selectors name and no device has.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cel/selector_cache.h"
#include "cel/spelling.h"
#include "inspect/explain_requests.h"
#include "inspect/explain_situation.h"

namespace tessera::inspect {

struct Misspelling {
  std::string owner;         // "class gpu.nvidia.com" or "request gpus".
  std::string device_class;  // Whose selector it is …
  Place place;               // … or, when that is empty, of which request.
  std::size_t selector = 0;
  std::string expression;
  std::vector<cel::UnknownName> unknown;  // Not empty.
};

// One for each selector that has any, of the requests and of the classes they name. A class is told once.
std::vector<Misspelling> FindMisspellings(const Situation& situation, cel::SelectorCache& selectors);

// "selector 0 of request gpus" and, for each name, its line with a caret under it.
std::string ToText(const Misspelling& misspelling);

}  // namespace tessera::inspect
