# How this project declares its parts.
#
#   tessera_module(cdi SOURCES spec.cc DEPS tessera::base TESTS spec_test.cc)
#
# makes the library tessera::cdi from src/cdi, and its tests. DEPS is the module's whole permission to include
# others; tests/layout checks it, and every #include, against the ladder in ARCHITECTURE.md.
include_guard()
include(GoogleTest OPTIONAL)
include(Precompiled)

function(tessera_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TEST_MAIN" "SOURCES;DEPS;LIBS;TESTS;TEST_DEPS")
  if(arg_SOURCES)
    add_library(tessera_${name} STATIC ${arg_SOURCES})
    target_include_directories(tessera_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(tessera_${name} PUBLIC ${arg_DEPS} tessera::options PRIVATE ${arg_LIBS} tessera::module_options)
    target_precompile_headers(tessera_${name} REUSE_FROM tessera_precompiled)
  else()
    add_library(tessera_${name} INTERFACE)
    target_include_directories(tessera_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(tessera_${name} INTERFACE ${arg_DEPS} tessera::options)
  endif()
  add_library(tessera::${name} ALIAS tessera_${name})
  if(arg_TESTS)
    tessera_test(${name}_test SOURCES ${arg_TESTS} MAIN "${arg_TEST_MAIN}" DEPS tessera::${name} ${arg_TEST_DEPS})
  endif()
endfunction()

# A program in bin/, installed with the others.
function(tessera_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} ${arg_LIBS} tessera::options)
  # What went in, by archive member: deploy/image makes the SBOM of it.
  target_link_options(${name} PRIVATE $<$<CONFIG:Release>:LINKER:-Map=${CMAKE_BINARY_DIR}/${name}.map>)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# A GoogleTest program. Each test is one ctest entry with the program's name as label, so that all run in parallel. MAIN replaces GoogleTest's
# main() where a test program must also be able to start as something else (the NVML host).
function(tessera_test name)
  if(NOT TESSERA_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MAIN;TIMEOUT" "SOURCES;DEPS;DEPENDS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300) # The slowest took 66 s on a busy machine, under a sanitizer.
  endif()
  if(arg_MAIN)
    list(APPEND arg_SOURCES ${arg_MAIN})
    set(gtest GTest::gtest)
  else()
    set(gtest GTest::gtest_main)
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock ${gtest} tessera::options)
  target_precompile_headers(${name} REUSE_FROM tessera_precompiled_tests)
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${name})
endfunction()
