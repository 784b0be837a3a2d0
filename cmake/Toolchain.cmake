# What every target of ours is compiled and linked with, as one interface target.
include_guard()
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# Dev: quick to build, pleasant to debug, assertions on.
set(CMAKE_CXX_FLAGS_DEV "-O0 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)

find_program(CCACHE ccache)
if(CCACHE)
  # One clone's cache serves the next at the same path (clang's precompiled headers have it inside); the sloppiness is what
  # precompiled headers need.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

cmake_path(RELATIVE_PATH CMAKE_SOURCE_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE source_from_build)

add_library(tessera_options INTERFACE)
add_library(tessera::options ALIAS tessera_options)
target_compile_features(tessera_options INTERFACE cxx_std_23)
target_compile_options(tessera_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers # Designated initialisers name what differs from the default.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> # g++ 12 sees ghosts in std::stop_token and std::optional.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations> # libstdc++ 12 uses in its stable_sort what it deprecates.
  "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>" # So that ccache knows precompiled headers again.
  -ffunction-sections -fdata-sections -fstack-protector-strong
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576> # g++ takes out its garbage from 1 GB on: a tenth of its time.
  # Reproducible: no build path in __FILE__ or debug information.
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.
  $<$<CONFIG:Release>:-ffile-prefix-map=${source_from_build}=.> # The same with ccache, which makes paths relative.
  $<$<BOOL:${TESSERA_WERROR}>:-Werror>)
target_compile_definitions(tessera_options INTERFACE
  $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>
  $<$<CONFIG:Dev>:_GLIBCXX_ASSERTIONS>)
target_link_options(tessera_options INTERFACE
  -Wl,--gc-sections -Wl,-z,relro,-z,now -Wl,--as-needed
  # Debian's mold packs them too, but leaves out the mark of it (GLIBC_ABI_DT_RELR) without which glibc refuses to load.
  $<$<CONFIG:Release>:-Wl,-z,pack-relative-relocs>
  $<$<CONFIG:Release>:-Wl,-s>)

# Modules are slow to test without any optimisation, and tests are slow to build with it.
add_library(tessera_module_options INTERFACE)
add_library(tessera::module_options ALIAS tessera_module_options)
if(NOT TESSERA_SANITIZE)
  target_compile_options(tessera_module_options INTERFACE $<$<CONFIG:Dev>:-O1>)
endif()

find_program(MOLD mold)
if(MOLD AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  target_link_options(tessera_options INTERFACE -fuse-ld=mold)
endif()

if(TESSERA_SANITIZE)
  # Boost and fmt are compiled with our code, so they are instrumented as well.
  add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
  if(TESSERA_SANITIZE MATCHES undefined)
    # Checks of every pointer that is used: ASan stops at most of those too, and they are a third of the build's time.
    # And of a function's type, which NVML's functions have only in C's eyes.
    add_compile_options(-fno-sanitize=null,object-size,vptr,alignment,pointer-overflow,function)
  endif()
  if(TESSERA_FUZZ)
    add_compile_options(-O1)
  endif()
else()
  # One file per program that runs on any glibc distribution from the build's on.
  target_link_options(tessera_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
if(TESSERA_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
