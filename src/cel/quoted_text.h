// cel/quoted_text.h: text in quotes, as Go's strconv.Quote has it.
#pragma once

#include <string>
#include <string_view>

namespace tessera::cel {

// Quotes, backslashes, control characters and what has no shape of its own (spaces other than ' ', joiners, private use)
// are escaped. Go decides the last by Unicode's tables; this knows the ranges that texts have in practice.
std::string QuoteAsGo(std::string_view text);

}  // namespace tessera::cel
