#pragma once
// A blob: one immutable file of known length, cut into blocks, under a name that its content gives
// it: an image, a snapshot of dependencies, a file that is staged on all nodes.
//
// The key is SHA-256, cut to 128 bits, of its length, its validator and its first and last 64 KiB:
// the same file has the same key on every node and in every job, whatever its path or URL is. The
// validator (a file's time of change, a server's strong ETag, else its Last-Modified) tells two
// files apart that differ in the middle alone.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::bootstrap {

// A start touches its libraries here and there: 238 MB of the measured image (`bench/run images`),
// which are 260 MB of these blocks, 279 of 256 KiB and 350 of 1 MiB. Larger ones win nothing where
// 16 and more are under way; squashfs itself reads 128 KiB at a time, so smaller ones do not
// either.
inline constexpr std::uint64_t kBlockBytes = std::uint64_t{128} << 10;
inline constexpr std::uint64_t kBlobBytesMax = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kBlobEdgeBytes = std::uint64_t{64}
                                                << 10;  // at both ends, in the key

struct Blob {
  std::string key;  // 32 lower-case hex digits
  std::uint64_t length = 0;
  std::string validator;
};

// Blocks of a blob of `length` bytes; the last one may be shorter.
[[nodiscard]] constexpr std::uint64_t blocks_of(std::uint64_t length) {
  return (length + kBlockBytes - 1) / kBlockBytes;
}
// `block` must be one of them.
[[nodiscard]] constexpr std::uint64_t bytes_of_block(std::uint64_t length, std::uint64_t block) {
  return std::min(kBlockBytes, length - block * kBlockBytes);
}

// `head`, `tail`: the first and the last kBlobEdgeBytes, or all of a shorter blob in both.
[[nodiscard]] std::string blob_key(std::uint64_t length, std::string_view validator,
                                   std::string_view head, std::string_view tail);
[[nodiscard]] bool is_blob_key(std::string_view text);

// What the validator of a local file is: its time of change in nanoseconds.
[[nodiscard]] std::string path_validator(std::int64_t mtime_ns);
// Of a regular file; blocks as long as its file system does. kNotFound, kInvalidArgument when it is
// empty, no regular file or too long.
[[nodiscard]] base::Result<Blob> blob_of_file(const std::string& path);
// The key without a validator: the same for copies of a squashfs, whose ends say when it was made.
[[nodiscard]] base::Result<std::string> content_key(const std::string& path);

// Whether a source is fetched over HTTP; else it is a path.
[[nodiscard]] bool is_http_source(std::string_view source);
// A URL as it may be shown: without user, password and query (they may be secrets).
[[nodiscard]] std::string shown_source(std::string_view source);

}  // namespace robustrun::bootstrap
