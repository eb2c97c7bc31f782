#pragma once
// Is this file a squashfs image, and all of it? By its superblock, the 96 bytes at its beginning
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

// Pure. `head`: the first kSquashHeadBytes of a file of `file_bytes`. kCorrupt, with only the cause
// as its sentence: it is none, of a version before 4, or cut short.
[[nodiscard]] base::Result<SquashHead> read_squash_head(std::string_view head,
                                                        std::uint64_t file_bytes);

// The same of a file, with a whole sentence and ENOEXEC; kNotFound or kOs as well. Blocks as long
// as its file system does.
[[nodiscard]] base::Result<SquashHead> look_at_squash_image(const std::string& path);

}  // namespace robustrun::bootstrap
