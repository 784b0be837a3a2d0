// lint/options.h: what objects are checked against.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cel/environment.h"
#include "lint/live_devices.h"

namespace tessera::lint {

struct Options {
  cel::Release release = cel::Release::k1_37;
  const LiveDevices* devices = nullptr;  // Null: none are known.
};

// "1.34" to "1.37", with or without a patch level; nothing for another release.
std::optional<cel::Release> ParseRelease(std::string_view text);
std::string_view ToString(cel::Release release);

}  // namespace tessera::lint
