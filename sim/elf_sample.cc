// A shared object with NVML's names and nothing behind them: what the tests of elf.h and tree.h hide symbols in.
#define NVML_SYMBOL(name, since) \
  extern "C" __attribute__((visibility("default"))) int name() { return __LINE__; }
#include "sim/symbols.inc"
