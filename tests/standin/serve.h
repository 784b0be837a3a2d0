// tests/standin/serve.h: a program that answers lines until it is told to end.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace tessera::standin {

// Signals that end the program, as a descriptor. To be called before the first thread starts, so that all block them.
UniqueFd EndSignals();

void Say(const std::string& line);  // On standard output, at once.

// Answers each line of standard input with one line, until `signals` has one. The end of the input ends nothing.
void ServeLines(int signals, const std::function<std::string(std::string_view line)>& answer);

}  // namespace tessera::standin
