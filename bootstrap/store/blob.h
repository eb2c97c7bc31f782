#pragma once
// A blob: an immutable file of known length, cut into blocks: an image, a snapshot of dependencies,
// or a staged file.
//
// A blob's name is its key. For images and staged files, it is the SHA-256, cut to 128 bits, of the
// length, the validator, and the first and last 64 KiB. So it is the same on every node and in
// every job, whatever the path or URL. The validator (a file's modification time; a server's strong
// ETag or, without one, its Last-Modified) distinguishes files that differ only in the middle.
// docs/formats/bulk.md defines the key of a snapshot.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::bootstrap {

// A start reads scattered parts of its libraries: 238 MB of the measured image (`bench/run
// images`), which are 260 MB in blocks of this size, 279 MB in blocks of 256 KiB and 350 MB in
// blocks of 1 MiB. With 16 or more requests in flight, larger blocks are not faster. Smaller blocks
// gain nothing, because squashfs itself reads 128 KiB at a time.
inline constexpr std::uint64_t kBlockBytes = std::uint64_t{128} << 10;
inline constexpr std::uint64_t kBlobBytesMax = std::uint64_t{1} << 40;
// Bytes at each end that are part of the key.
inline constexpr std::uint64_t kBlobEdgeBytes = std::uint64_t{64} << 10;

struct Blob {
  std::string key;  // 32 lower-case hex digits
  std::uint64_t length = 0;
  std::string validator;
};

// Number of blocks of a blob of `length` bytes; the last one may be shorter.
[[nodiscard]] constexpr std::uint64_t blocks_of(std::uint64_t length) {
  return (length + kBlockBytes - 1) / kBlockBytes;
}
// Length in bytes of the block number `block`, which must exist.
[[nodiscard]] constexpr std::uint64_t bytes_of_block(std::uint64_t length, std::uint64_t block) {
  return std::min(kBlockBytes, length - block * kBlockBytes);
}

// `head`, `tail`: the first and last kBlobEdgeBytes; if the blob is shorter, each is the whole
// blob.
[[nodiscard]] std::string blob_key(std::uint64_t length, std::string_view validator,
                                   std::string_view head, std::string_view tail);
[[nodiscard]] bool is_blob_key(std::string_view text);

// The validator of a local file, made of its modification time in nanoseconds.
[[nodiscard]] std::string path_validator(std::int64_t mtime_ns);
// The blob of a regular file. Blocks as long as the file system does. kOs: a system call failed, or
// the file is missing. kInvalidArgument: it is empty, not regular or too long. kConflict: it was
// cut short meanwhile.
[[nodiscard]] base::Result<Blob> blob_of_file(const std::string& path);
// The key with an empty validator. It is equal for copies of a squashfs image and differs between
// images, because an image's head contains its creation time. Errors: as blob_of_file().
[[nodiscard]] base::Result<std::string> content_key(const std::string& path);

// Whether a source is fetched over HTTP; otherwise it is a path.
[[nodiscard]] bool is_http_source(std::string_view source);
// A URL as shown to users: without user, password and query, which may be secrets.
[[nodiscard]] std::string shown_source(std::string_view source);

}  // namespace robustrun::bootstrap
