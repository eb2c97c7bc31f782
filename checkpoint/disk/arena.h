#pragma once
// Memory from which data is written to disk: aligned for O_DIRECT, in huge pages where available.
// Callers keep and reuse it, because the first access to each new page is slow.

#include <cstddef>
#include <utility>

#include "base/core/result.h"

namespace robustrun::checkpoint {

class Arena {
 public:
  // Rounds `bytes` up to whole pages; from 2 MiB on, to whole huge pages of 2 MiB.
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
