#pragma once
// Checks that a file is a squashfs image and not cut short. Reads only the superblock, the first 96
// bytes (Documentation/filesystems/squashfs.rst and squashfs_fs.h of the kernel).

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::bootstrap {

inline constexpr std::size_t kSquashHeadBytes = 96;

struct SquashHead {
  std::uint64_t bytes = 0;  // of the image; the file may be padded beyond it
  std::string compressor;  // gzip, zstd …
};

// Parses `head`, the first kSquashHeadBytes of a file of `file_bytes`. kCorrupt: the file is not
// squashfs, not of version 4, or cut short; the text has only the cause. Pure.
[[nodiscard]] base::Result<SquashHead> read_squash_head(std::string_view head,
                                                        std::uint64_t file_bytes);

// The same for the file at `path`. The text of an error is a whole sentence. kCorrupt (with
// ENOEXEC): as above. kInvalidArgument: it is not a regular file. Others: kNotFound, kOs. Blocks as
// long as the file system does.
[[nodiscard]] base::Result<SquashHead> look_at_squash_image(const std::string& path);

}  // namespace robustrun::bootstrap
