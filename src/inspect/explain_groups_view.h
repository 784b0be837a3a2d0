// inspect/explain_groups_view.h: the nodes of an explanation in few lines.
#pragma once

#include <cstddef>
#include <vector>

#include "inspect/explain_nodes.h"
#include "inspect/screen.h"

namespace tessera::inspect {

// At most `room` lines, and room is at least 12. What does not fit is counted, and the last line then says where it is,
// where `has_json` tells of a flag that shows it.
// When it must be short, each group tells first what is wrong with its pools, why devices do not go together, and which
// requests lack devices.
Screen ViewOf(const std::vector<NodeGroup>& groups, bool name_claims, std::size_t room, bool has_json = true);

}  // namespace tessera::inspect
