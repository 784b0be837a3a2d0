// tests/standin/free_port.h: a TCP port for a program that has to be told one.
#pragma once

#include <cstdint>

namespace tessera::standin {

// One of 127.0.0.1 that nobody listens on at the moment.
std::uint16_t FreePort();

}  // namespace tessera::standin
