# Third-party code, each behind one target. Static where Debian has an archive; header-only libraries
# that are slow to include are compiled once (src/json/boost_json.cc, src/base/fmt.cc).
include_guard()

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
add_library(tessera_boost INTERFACE)
add_library(tessera::boost ALIAS tessera_boost)
target_include_directories(tessera_boost SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
add_compile_definitions(BOOST_JSON_NO_LIB BOOST_CONTAINER_NO_LIB) # For all, or Precompiled.cmake would not serve all.

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

# RE2: cel/ only. Under sanitizers the shared library, for the reason given at gRPC.
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
if(TESSERA_SANITIZE)
  find_library(RE2_LIBRARY NAMES re2 REQUIRED)
else()
  find_library(RE2_LIBRARY NAMES libre2.a REQUIRED)
endif()
add_library(tessera_re2 INTERFACE)
add_library(tessera::re2 ALIAS tessera_re2)
target_include_directories(tessera_re2 SYSTEM INTERFACE ${RE2_INCLUDE_DIR})
target_link_libraries(tessera_re2 INTERFACE ${RE2_LIBRARY} Threads::Threads)

# OpenSSL: TLS in net/, a checksum in kubelet/.
find_path(OPENSSL_HEADERS openssl/ssl.h REQUIRED)
find_library(SSL_LIBRARY NAMES libssl.a REQUIRED)
find_library(CRYPTO_LIBRARY NAMES libcrypto.a REQUIRED)
add_library(tessera_openssl INTERFACE)
add_library(tessera::openssl ALIAS tessera_openssl)
target_include_directories(tessera_openssl SYSTEM INTERFACE ${OPENSSL_HEADERS})
target_link_libraries(tessera_openssl INTERFACE ${SSL_LIBRARY} ${CRYPTO_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})

# gRPC and protobuf-lite: kubelet/ only. pkg-config's list for the archive of grpc++_unsecure is incomplete: c-ares, upb,
# zlib, RE2 and address_sorting are named only for the secure library. The archives depend on each other in circles.
# Under sanitizers the shared libraries are used: archives that are not instrumented clash with instrumented copies of
# the same inline functions.
find_package(PkgConfig REQUIRED)
pkg_check_modules(GRPC REQUIRED grpc++_unsecure)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
add_library(tessera_grpc INTERFACE)
add_library(tessera::grpc ALIAS tessera_grpc)
if(TESSERA_SANITIZE)
  # gRPC's headers lock Abseil's mutexes.
  target_link_libraries(tessera_grpc INTERFACE grpc++_unsecure grpc_unsecure gpr absl_synchronization protobuf-lite
                        Threads::Threads)
else()
  set(grpc_archives)
  foreach(name grpc++_unsecure grpc_unsecure gpr address_sorting re2 upb cares z protobuf-lite ${GRPC_STATIC_LIBRARIES})
    find_library(archive_${name} NAMES lib${name}.a)
    if(archive_${name})
      list(APPEND grpc_archives ${archive_${name}})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES grpc_archives)
  target_link_libraries(tessera_grpc INTERFACE -Wl,--start-group ${grpc_archives} -Wl,--end-group Threads::Threads)
endif()

if(TESSERA_TESTS)
  find_package(GTest REQUIRED)
endif()
