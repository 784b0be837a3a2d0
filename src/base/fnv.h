// base/fnv.h: FNV-1a: a short number for a text. It guards against a mix-up, not against an attacker.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

// Goes on from `hash`, so that several texts can make one number.
constexpr std::uint64_t Fnv1a(std::string_view text, std::uint64_t hash = 0xCBF29CE484222325) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

}  // namespace tessera
