#pragma once
// Checks that a file is a complete squashfs image, by its superblock, the first 96 bytes
// (Documentation/filesystems/squashfs.rst and squashfs_fs.h of the kernel).

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::bootstrap {

inline constexpr std::size_t kSquashHeadBytes = 96;

struct SquashHead {
  std::uint64_t bytes = 0;  // of the image; the file may be padded beyond it
  std::string compressor;   // gzip, zstd …
};

// Parses `head`, the first kSquashHeadBytes of a file of `file_bytes`. kCorrupt, with only the
// cause as its text: no squashfs, not of version 4, or cut short. Pure.
[[nodiscard]] base::Result<SquashHead> read_squash_head(std::string_view head,
                                                        std::uint64_t file_bytes);

// The same for the file at `path`. An error is a whole sentence: kCorrupt with ENOEXEC, kNotFound,
// kInvalidArgument (not a regular file) or kOs.
// Blocks as long as the file system does.
[[nodiscard]] base::Result<SquashHead> look_at_squash_image(const std::string& path);

}  // namespace robustrun::bootstrap
