# What most sources include and few need the compiler to read again: a third of the compile time. Lint goes without
# (CMAKE_DISABLE_PRECOMPILE_HEADERS), so a source that forgets an include is found there.
include_guard()

set(precompiled <algorithm> <array> <chrono> <condition_variable> <cstdint> <expected> <filesystem> <functional> <map>
  <memory> <mutex> <optional> <set> <span> <stop_token> <string> <string_view> <thread> <utility> <variant> <vector>
  <boost/json/value.hpp> <fmt/format.h>)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled.cc CONTENT "int main() { return 0; }\n")

# Two, since libraries and programs differ in -fPIC: one for modules, one for tests.
add_library(tessera_precompiled STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
target_link_libraries(tessera_precompiled PRIVATE tessera::boost tessera::fmt tessera::options tessera::module_options)
target_precompile_headers(tessera_precompiled PRIVATE ${precompiled})
if(TESSERA_TESTS)
  add_executable(tessera_precompiled_tests EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
  target_link_libraries(tessera_precompiled_tests PRIVATE tessera::boost tessera::fmt GTest::gmock tessera::options)
  target_precompile_headers(tessera_precompiled_tests PRIVATE ${precompiled} <gmock/gmock.h> <gtest/gtest.h>)
endif()
