#include "manifests/builtin_classes.h"

#include <string_view>

#include "base/text.h"

namespace tessera::manifests {

std::vector<api::DeviceClass> BuiltinClasses() {
  std::vector<api::DeviceClass> classes;
  for (const std::string_view type : {"gpu", "mig"}) {
    api::DeviceClass& added = classes.emplace_back();
    added.name = Format("{}.nvidia.com", type);
    added.selectors = {{.cel = Format("device.driver == 'gpu.nvidia.com' && "
                                      "device.attributes['gpu.nvidia.com'].type == '{}'",
                                      type)}};
  }
  return classes;
}

}  // namespace tessera::manifests
