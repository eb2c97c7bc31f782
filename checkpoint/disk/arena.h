#pragma once
// Memory through which data goes to disk: aligned for O_DIRECT, in huge pages where available. Kept
// and reused, because touching a new page costs more than writing it to disk.

#include <cstddef>
#include <utility>

#include "base/core/result.h"

namespace robustrun::checkpoint {

class Arena {
 public:
  // `bytes` is rounded up to whole pages; from 2 MiB on, to whole huge pages (2 MiB).
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
