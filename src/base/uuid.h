// base/uuid.h: new identities.
#pragma once

#include <string>

namespace tessera {

// A random UUID (RFC 9562, version 4): "3f6c1d2e-8a41-4a57-9d0b-5f2e7c1b9a10".
std::string RandomUuid();

}  // namespace tessera
