// kube/base64.h: the inline data of kubeconfig files. Internal to kube/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::kube {

// Standard base64 with padding; line ends in it are ignored, as Go does. Nothing when it is none.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace tessera::kube
