# Third-party code, each behind one target. Static where Debian has an archive; header-only libraries
# that are slow to include are compiled once (src/json/boost_json.cc, src/base/fmt.cc).
include_guard()

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
add_library(tessera_boost INTERFACE)
add_library(tessera::boost ALIAS tessera_boost)
target_include_directories(tessera_boost SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
target_compile_definitions(tessera_boost INTERFACE BOOST_JSON_NO_LIB BOOST_CONTAINER_NO_LIB)

find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
add_library(tessera_fmt INTERFACE)
add_library(tessera::fmt ALIAS tessera_fmt)
target_include_directories(tessera_fmt SYSTEM INTERFACE ${FMT_INCLUDE_DIR})

find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
find_library(YAML_LIBRARY NAMES libyaml.a REQUIRED) # The archive, so that programs need only glibc.
add_library(tessera_yaml INTERFACE)
add_library(tessera::yaml ALIAS tessera_yaml)
target_include_directories(tessera_yaml SYSTEM INTERFACE ${YAML_INCLUDE_DIR})
target_link_libraries(tessera_yaml INTERFACE ${YAML_LIBRARY})

find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
add_library(tessera_cli11 INTERFACE)
add_library(tessera::cli11 ALIAS tessera_cli11)
target_include_directories(tessera_cli11 SYSTEM INTERFACE ${CLI11_INCLUDE_DIR})

if(TESSERA_TESTS)
  find_package(GTest REQUIRED)
endif()
