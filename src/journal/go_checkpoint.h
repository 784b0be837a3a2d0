// journal/go_checkpoint.h: the Go driver's types that its checkpoint is made of, as each release declares them.
#pragma once

#include "journal/checkpoint.h"
#include "journal/go_json.h"

namespace tessera::journal {

// A claim's record: PreparedClaimV1 and PreparedClaimV2.
struct GoClaimTypes {
  const GoType* v1;
  const GoType* v2;
};
GoClaimTypes GoClaimTypesOf(GoRelease release);

}  // namespace tessera::journal
