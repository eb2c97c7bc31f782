#pragma once
// Reads past the page cache (O_DIRECT), for somebody who keeps the bytes itself: in memory they
// would lie twice, and be copied once more. What is in the page cache already is taken from there.
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
  // Of a file that is there and ours. Where the file system has no such reads, none is tried.
  explicit DirectFile(const std::string& path);

  // All of `bytes`. False: nothing was read, or not all of it; read it in the ordinary way, which
  // knows why. So it is where the offset, the length or the memory is no multiple of
  // kDirectAlignment, and where all of it is in the page cache.
  bool read(std::uint64_t offset, std::span<char> bytes) const;

 private:
  base::Fd fd_;
};

// Memory for such reads, of `size` bytes that are not set to anything.
class DirectBuffer {
 public:
  explicit DirectBuffer(std::size_t size);
  [[nodiscard]] std::span<char> bytes() const { return bytes_; }

 private:
  std::unique_ptr<char[]> space_;
  std::span<char> bytes_;  // of it
};

}  // namespace robustrun::bootstrap
