#pragma once
// Reads that bypass the page cache (O_DIRECT), for callers that keep the bytes themselves:
// otherwise they would be in memory twice and be copied once more. Bytes already in the page cache
// are left to ordinary reads.
//
// Thread-safe; blocks as long as the file system does.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/io/fd.h"

namespace robustrun::bootstrap {

inline constexpr std::size_t kDirectAlignment = 4096;

class DirectFile {
 public:
  // Opens an existing file, not a link. If the file system does not support O_DIRECT, read()
  // returns false.
  explicit DirectFile(const std::string& path);

  // Fills `bytes`. Returns false if some bytes were not read; then use ordinary reads, which report
  // the cause. It also returns false if offset, length or memory is not a multiple of
  // kDirectAlignment, or if all bytes are in the page cache.
  bool read(std::uint64_t offset, std::span<char> bytes) const;

 private:
  base::Fd fd_;
};

// Uninitialized memory of `size` bytes for such reads.
class DirectBuffer {
 public:
  explicit DirectBuffer(std::size_t size);
  [[nodiscard]] std::span<char> bytes() const { return bytes_; }

 private:
  std::unique_ptr<char[]> space_;
  std::span<char> bytes_;  // the aligned part of it
};

}  // namespace robustrun::bootstrap
