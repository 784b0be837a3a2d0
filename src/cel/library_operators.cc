// The operators' types. The evaluator does them itself, so they have no implementation here. The order is cel-go's:
// where a type is not known yet, the first overload that fits decides it.
#include "cel/library.h"

namespace tessera::cel {
namespace {

constexpr OverloadSpec Operator(std::string_view name, std::string_view signature) {
  return {name, Style::kGlobal, signature, nullptr};
}

constexpr OverloadSpec kOverloads[]{
    Operator("_?_:_", "(bool, A, A) A"),
    Operator("_&&_", "(bool, bool) bool"),
    Operator("_||_", "(bool, bool) bool"),
    Operator("!_", "(bool) bool"),
    Operator("_==_", "(A, A) bool"),
    Operator("_!=_", "(A, A) bool"),
    Operator("@in", "(A, list<A>) bool"),
    Operator("@in", "(A, map<A, B>) bool"),
    Operator("_[_]", "(list<A>, int) A"),
    Operator("_[_]", "(map<A, B>, A) B"),
    Operator("_[_]", "(optional<list<A>>, int) optional<A>"),
    Operator("_[_]", "(optional<map<A, B>>, A) optional<B>"),
    Operator("_[?_]", "(list<A>, int) optional<A>"),
    Operator("_[?_]", "(optional<list<A>>, int) optional<A>"),
    Operator("_[?_]", "(map<A, B>, A) optional<B>"),
    Operator("_[?_]", "(optional<map<A, B>>, A) optional<B>"),
    Operator("-_", "(double) double"),
    Operator("-_", "(int) int"),
    Operator("_+_", "(bytes, bytes) bytes"),
    Operator("_+_", "(double, double) double"),
    Operator("_+_", "(duration, duration) duration"),
    Operator("_+_", "(duration, timestamp) timestamp"),
    Operator("_+_", "(timestamp, duration) timestamp"),
    Operator("_+_", "(int, int) int"),
    Operator("_+_", "(list<A>, list<A>) list<A>"),
    Operator("_+_", "(string, string) string"),
    Operator("_+_", "(uint, uint) uint"),
    Operator("_-_", "(double, double) double"),
    Operator("_-_", "(duration, duration) duration"),
    Operator("_-_", "(int, int) int"),
    Operator("_-_", "(timestamp, duration) timestamp"),
    Operator("_-_", "(timestamp, timestamp) duration"),
    Operator("_-_", "(uint, uint) uint"),
    Operator("_*_", "(double, double) double"),
    Operator("_*_", "(int, int) int"),
    Operator("_*_", "(uint, uint) uint"),
    Operator("_/_", "(double, double) double"),
    Operator("_/_", "(int, int) int"),
    Operator("_/_", "(uint, uint) uint"),
    Operator("_%_", "(int, int) int"),
    Operator("_%_", "(uint, uint) uint"),
#define TESSERA_CEL_ORDER(name)                                                                                       \
  Operator(name, "(bool, bool) bool"), Operator(name, "(int, int) bool"), Operator(name, "(int, double) bool"),       \
      Operator(name, "(int, uint) bool"), Operator(name, "(uint, uint) bool"), Operator(name, "(uint, double) bool"), \
      Operator(name, "(uint, int) bool"), Operator(name, "(double, double) bool"),                                    \
      Operator(name, "(double, int) bool"), Operator(name, "(double, uint) bool"),                                    \
      Operator(name, "(string, string) bool"), Operator(name, "(bytes, bytes) bool"),                                 \
      Operator(name, "(timestamp, timestamp) bool"), Operator(name, "(duration, duration) bool")
    TESSERA_CEL_ORDER("_<_"),
    TESSERA_CEL_ORDER("_<=_"),
    TESSERA_CEL_ORDER("_>_"),
    TESSERA_CEL_ORDER("_>=_"),
#undef TESSERA_CEL_ORDER
};

}  // namespace

std::span<const OverloadSpec> StandardOperators() { return kOverloads; }

}  // namespace tessera::cel
