// base/json_text.h: text as a JSON string. json/ prints values with it, the log its lines.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// Appends `text`, in quotes. What some reader of JSON or YAML takes for a line's end or refuses is escaped; JavaScript
// and YAML 1.1 have line ends beyond ASCII.
void AppendJsonString(std::string& out, std::string_view text);

// Whether `text` holds a character that is escaped for more than being a quote or a backslash.
bool HasControls(std::string_view text);

}  // namespace tessera
