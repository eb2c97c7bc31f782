#pragma once
// Limits how fast all threads of a store together write data. Each request gets a span of time
// after all earlier requests. Idle time is not saved up, so there are no bursts. At first there is
// no limit.
//
// Thread-safe. A new limit holds for later requests; requests that are waiting when it is set no
// longer wait. A thread waits between its calls to a mount, so the wait does not count towards the
// patience of mount_threads.h.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/core/clock.h"

namespace robustrun::checkpoint {

class WriteRate {
 public:
  // `asked` counts the bytes of all requests; may be null. The clock must outlive this object.
  explicit WriteRate(const base::Clock& clock,
                     std::shared_ptr<std::atomic<std::uint64_t>> asked = nullptr)
      : clock_(clock), asked_(std::move(asked)) {}

  void limit(std::uint64_t bytes_per_s);  // 0: no limit
  [[nodiscard]] bool is_limited() const { return bytes_per_s_.load() > 0; }
  // A request: waits until `bytes` more may be written.
  void take(std::uint64_t bytes);

 private:
  const base::Clock& clock_;
  std::shared_ptr<std::atomic<std::uint64_t>> asked_;
  std::atomic<std::uint64_t> bytes_per_s_ = 0;
  std::atomic<std::int64_t> over_ns_ = 0;  // when all granted bytes are written at this rate
};

}  // namespace robustrun::checkpoint
