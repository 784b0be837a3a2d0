#include <gtest/gtest.h>

#include <array>

#include "kubelet/plugin_server.h"

namespace tessera::kubelet {
namespace {

constexpr std::string_view kUid = "11111111-2222-3333-4444-555555555555";

PluginOptions Options(std::string registry, std::string instance = {}) {
  return {.driver_name = "gpu.nvidia.com",
          .registry = std::move(registry),
          .directory = "/var/lib/kubelet/plugins/gpu.nvidia.com",
          .instance = std::move(instance)};
}

// A directory path of this many bytes.
std::string Directory(std::size_t length) { return "/" + std::string(length - 1, 'd'); }

TEST(SocketPaths, FixedNamesWithoutAnInstance) {
  const auto paths = MakeSocketPaths(Options("/var/lib/kubelet/plugins_registry"));
  ASSERT_TRUE(paths.has_value());
  EXPECT_EQ(paths->registration, "/var/lib/kubelet/plugins_registry/gpu.nvidia.com-reg.sock");
  EXPECT_EQ(paths->service, "/var/lib/kubelet/plugins/gpu.nvidia.com/dra.sock");
}

// The hashes were computed with Python's hashlib and base64.
TEST(SocketPaths, RegistrationNamesAreShortenedAsTheGoHelperDoes) {
  struct Case {
    std::size_t directory;
    std::string_view name;
  };
  constexpr std::array kCases{
      Case{33, "gpu.nvidia.com-11111111-2222-3333-4444-555555555555-reg.sock"},
      Case{46, "gpu.nvidia.com-11111111-2222-3333-4444-555555555555-reg.sock"},
      Case{47, "gpu.nvidia.com-Zm_2zKpbPAc-reg.sock"},
      Case{71, "gpu.nvidia.com-Zm_2zKpbPAc-reg.sock"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.directory);
    const auto paths = MakeSocketPaths(Options(Directory(c.directory), std::string(kUid)));
    ASSERT_TRUE(paths.has_value());
    EXPECT_EQ(paths->registration.filename(), c.name);
    EXPECT_LE(paths->registration.native().size(), 107U);
    EXPECT_EQ(paths->service.filename(), "dra-11111111-2222-3333-4444-555555555555.sock");
  }
}

TEST(SocketPaths, TheShortestNameNeedsNoDriver) {
  PluginOptions options = Options(Directory(70), std::string(kUid));
  options.driver_name = "a-driver-with-a-rather-long-name.example.com";
  const auto paths = MakeSocketPaths(options);
  ASSERT_TRUE(paths.has_value());
  EXPECT_EQ(paths->registration.filename(), "dra-gpmu7GPatwimzWnmlGrTsg-reg.sock");

  options.driver_name = "gpu.nvidia.com";
  options.registry = Directory(72);
  EXPECT_EQ(MakeSocketPaths(options).error().code(), "SocketPathTooLong");
}

TEST(SocketPaths, WhatTheKubeletCannotUseIsRefused) {
  struct Case {
    std::string_view name;
    PluginOptions options;
    std::string_view code;
  };
  PluginOptions bad_driver = Options("/r");
  bad_driver.driver_name = "../gpu";
  PluginOptions long_service = Options("/r", std::string(kUid));
  long_service.directory = Directory(70);
  const std::array cases{
      Case{"relative", Options("registry"), "SocketPathUnusable"},
      Case{"percent", Options("/a%2Fb"), "SocketPathUnusable"},
      Case{"blank", Options("/a b"), "SocketPathUnusable"},
      Case{"no driver", bad_driver, "BadDriverName"},
      Case{"an instance with a slash", Options("/r", "a/b"), "BadInstance"},
      Case{"too long without an instance", Options(Directory(90)), "SocketPathTooLong"},
      Case{"the service socket is not shortened", long_service, "SocketPathTooLong"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto paths = MakeSocketPaths(c.options);
    ASSERT_FALSE(paths.has_value());
    EXPECT_EQ(paths.error().code(), c.code);
    EXPECT_FALSE(paths.error().advice().empty());
  }
}

}  // namespace
}  // namespace tessera::kubelet
