// lint/catalogue.h: what the files hold, for rules that look from one object to another.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lint/node.h"
#include "manifests/manifest.h"

namespace tessera::lint {

class Catalogue {
 public:
  // The manifests must outlive it.
  explicit Catalogue(std::span<const manifests::Manifest> objects) : objects_(objects) {}

  // Null when the files hold none. An object that says no namespace may be in any.
  const manifests::Manifest* Find(std::string_view kind, std::string_view namespace_name, std::string_view name) const;

  // The same name in another namespace than the one asked for.
  const manifests::Manifest* FindElsewhere(std::string_view kind, std::string_view name) const;

  // The CEL selectors of a class: of the files, else one that our chart installs, else nothing known.
  struct Class {
    bool known = false;
    bool builtin = false;
    std::vector<std::string> selectors;
  };
  Class ClassOf(std::string_view name) const;

  // The driver whose devices the class has, as its selectors say; ours when they do not.
  std::string DriverOf(std::string_view class_name) const;

 private:
  std::span<const manifests::Manifest> objects_;
};

inline constexpr std::string_view kResourceGroup = "resource.k8s.io/";  // What apiVersion begins with.
inline constexpr std::string_view kOurDriver = "gpu.nvidia.com";

// The driver that selectors compare device.driver with; ours when they do not.
std::string DriverIn(std::span<const std::string> selectors);

// spec.selectors of a class.
std::vector<std::string> SelectorsOf(const Node& list);

}  // namespace tessera::lint
