#include "alloc/attribute_set.h"

#include <algorithm>
#include <iterator>

namespace tessera::alloc {
namespace {

struct Lister {
  template <class T>
  std::optional<api::Attribute> operator()(const T& value) const {
    return std::vector<T>{value};
  }
  template <class T>
  std::optional<api::Attribute> operator()(const std::vector<T>& values) const {
    return values.empty() ? std::nullopt : std::optional<api::Attribute>(values);
  }
};

struct Intersection {
  template <class T, class U>
  std::optional<api::Attribute> operator()(const T&, const U&) const {
    return std::nullopt;
  }
  template <class T>
  std::optional<api::Attribute> operator()(const std::vector<T>& a, const std::vector<T>& b) const {
    std::vector<T> common;
    std::ranges::copy_if(a, std::back_inserter(common),
                         [&](const T& value) { return std::ranges::find(b, value) != b.end(); });
    return common.empty() ? std::nullopt : std::optional<api::Attribute>(std::move(common));
  }
};

}  // namespace

std::optional<api::Attribute> AsSet(const api::Attribute& attribute) { return std::visit(Lister{}, attribute); }

std::optional<api::Attribute> Common(const api::Attribute& a, const api::Attribute& b) {
  return std::visit(Intersection{}, a, b);
}

}  // namespace tessera::alloc
