// kubelet/utf8.h: text that may be sent. A kubelet of 1.35 or later rejects a whole response when one string in it is
// not UTF-8, and what drivers and device nodes say is not always.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::kubelet {

// `text` with what is no UTF-8 (RFC 3629) replaced by U+FFFD, cut at a character to at most `limit` bytes.
std::string ToUtf8(std::string_view text, std::size_t limit = std::string_view::npos);

}  // namespace tessera::kubelet
