#include "cmd/tessera/exit_codes.h"

#include <cstdio>

namespace tessera::cmd {

int Fail(const Error& error) {
  std::fprintf(stderr, "tessera: %s [%s]\n", error.message().c_str(), std::string(error.code()).c_str());
  if (!error.advice().empty()) std::fprintf(stderr, "  next: %s\n", error.advice().c_str());
  return kExitProblem;
}

}  // namespace tessera::cmd
