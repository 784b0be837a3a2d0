// journal/go_checkpoint.h: the Go driver's types that its checkpoint is made of, as its HEAD (August 2026) declares them.
#pragma once

#include "journal/go_json.h"

namespace tessera::journal {

// A claim's record: PreparedClaimV2 and PreparedClaimV1.
extern const GoType kGoClaimV2;
extern const GoType kGoClaimV1;

}  // namespace tessera::journal
