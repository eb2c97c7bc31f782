#pragma once
// Memory through which data goes to disk: aligned for O_DIRECT, in huge pages where there are some,
// touched once and then used again and again (a page's first touch costs more than a disk's write).

#include <cstddef>
#include <utility>

#include "base/core/result.h"

namespace robustrun::checkpoint {

class Arena {
 public:
  // `bytes` is rounded up to whole pages, huge ones (2 MiB) when it is as much as one.
  static base::Result<Arena> make(std::size_t bytes);
  Arena() = default;
  Arena(Arena&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] char* data() const { return start_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  char* start_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace robustrun::checkpoint
