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
  cel::UnknownName unknown;
};

// Of the requests and of the classes they name. A class is told once.
std::vector<Misspelling> FindMisspellings(const Situation& situation, cel::SelectorCache& selectors);

// "request gpus, selector 0: …" with the line and a caret under the name.
std::string ToText(const Misspelling& misspelling);

}  // namespace tessera::inspect
