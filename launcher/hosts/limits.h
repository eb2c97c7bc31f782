#pragma once
// Limits for the sources of host names: lists, host files, filters, ssh configuration.

#include <cstddef>
#include <cstdint>

#include "base/core/name_list.h"

namespace robustrun::launcher {

inline constexpr std::size_t kHostListBytesMax = std::size_t{1} << 20;  // --hosts, and one filter
inline constexpr std::size_t kHostFileBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kHostsMax = 16384;  // of one list, file or filter
inline constexpr std::size_t kHostNameBytesMax = base::kListedNameBytesMax;
inline constexpr std::size_t kUserNameBytesMax = 64;
inline constexpr std::uint32_t kSlotsMax = 4096;  // workers of one host
inline constexpr std::size_t kDevicesMax = 256;  // of one host, in a filter

inline constexpr std::size_t kSshConfigBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kSshConfigFilesMax = 64;  // also of the files that one setting names
// If the ssh configuration exceeds one of the next two limits, the ssh client is asked about each
// host.
inline constexpr std::size_t kSshConfigLineBytesMax = 1000;  // old clients divide longer lines
inline constexpr std::size_t kSshConfigPatternsMax = 1024;  // patterns after Host, in all files

}  // namespace robustrun::launcher
