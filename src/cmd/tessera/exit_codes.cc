#include "cmd/tessera/exit_codes.h"

#include <cstdio>

#include "base/error_codes.h"

namespace tessera::cmd {

int Fail(const Error& error) {
  std::fprintf(stderr, "tessera: %s [%s]\n", error.message().c_str(), std::string(error.code()).c_str());
  const Error told = WithNextStep(error);
  if (!told.advice().empty()) std::fprintf(stderr, "  next: %s\n", told.advice().c_str());
  return kExitProblem;
}

}  // namespace tessera::cmd
