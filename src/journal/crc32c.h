// journal/crc32c.h: the checksum of a journal line.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::journal {

// CRC-32C (Castagnoli), as iSCSI and ext4 use it. "123456789" gives e3069283.
std::uint32_t Crc32c(std::string_view data);

}  // namespace tessera::journal
