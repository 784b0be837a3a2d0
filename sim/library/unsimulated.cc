// Every function of the public headers, as a weak symbol that answers NOT_SUPPORTED. The functions that the simulator
// does have are strong symbols in the other files and win over these when the library is linked.
#include "sim/library/library.h"

namespace tessera::sim::library {
namespace {

// Even these want an initialised library, and can be made to fail in other ways.
Return Unsimulated(std::string_view function) {
  const Frame frame = Enter(function, At(kMachine));
  return frame.status == kSuccess && !frame.garbage ? kNotSupported : frame.status;
}

}  // namespace

// In the C calling convention the caller removes the arguments, so a body without parameters serves every signature.
#define NVML_SYMBOL(name, since) \
  extern "C" __attribute__((weak, visibility("default"))) Return name() { return Unsimulated(#name); }
#include "sim/symbols.inc"
#undef NVML_SYMBOL

}  // namespace tessera::sim::library
