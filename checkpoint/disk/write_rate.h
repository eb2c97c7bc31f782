#pragma once
// How fast data may go to the disks, for all threads of a store together: a token bucket without
// room for more than what is being asked for. No limit at first. Counts what was asked for.
//
// Thread-safe. A new limit counts at once, also for those who wait. Whoever waits is between calls
// that touch a mount (mount_threads.h), so that no patience is used up.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/core/clock.h"

namespace robustrun::checkpoint {

class WriteRate {
 public:
  // `asked`: where all bytes are added up; null: nobody wants to know. The clock is not owned.
  explicit WriteRate(const base::Clock& clock,
                     std::shared_ptr<std::atomic<std::uint64_t>> asked = nullptr)
      : clock_(clock), asked_(std::move(asked)) {}

  void limit(std::uint64_t bytes_per_s);  // 0: none
  [[nodiscard]] bool is_limited() const { return bytes_per_s_.load() > 0; }
  // Waits until `bytes` more may be written: as long as they take at this rate, behind what others
  // were given before.
  void take(std::uint64_t bytes);

 private:
  const base::Clock& clock_;
  std::shared_ptr<std::atomic<std::uint64_t>> asked_;
  std::atomic<std::uint64_t> bytes_per_s_ = 0;
  std::atomic<std::int64_t> over_ns_ = 0;  // when all that was given is over
};

}  // namespace robustrun::checkpoint
