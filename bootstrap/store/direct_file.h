#pragma once
// Reads that bypass the page cache (O_DIRECT), for callers that keep the bytes themselves:
// otherwise the bytes would be in memory twice and be copied once more. Thread-safe; blocks as long
// as the file system does.

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
  // Opens an existing file, not a link. If that fails, for example because the file system does not
  // support O_DIRECT, read() returns false.
  explicit DirectFile(const std::string& path);

  // Fills `bytes`. Returns false if some bytes were not read; the caller then uses ordinary reads,
  // which report the cause. Always returns false if offset, length or memory is not a multiple of
  // kDirectAlignment, or if all the bytes are in the page cache already.
  bool read(std::uint64_t offset, std::span<char> bytes) const;

 private:
  base::Fd fd_;
};

// Aligned, uninitialized memory for such reads.
class DirectBuffer {
 public:
  explicit DirectBuffer(std::size_t size);
  [[nodiscard]] std::span<char> bytes() const { return bytes_; }

 private:
  std::unique_ptr<char[]> space_;
  std::span<char> bytes_;  // the aligned part of space_
};

}  // namespace robustrun::bootstrap
