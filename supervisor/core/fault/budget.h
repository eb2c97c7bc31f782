#pragma once
// How often a run may be tried again. Pure.
//
// Counted faults (the user's) draw on max_restarts, which is full again after `window` of
// progress. Uncounted ones (infrastructure) are only limited in a row. Progress ends every row,
// and with it the back-off and the memory of the last failure's signature. Of the uncounted ones
// starts that failed have a row of their own, which an attempt ends whose workers all run.

#include <cstdint>
#include <string>

#include "base/core/clock.h"
#include "supervisor/core/fault/fault.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Budget {
 public:
  Budget() = default;
  explicit Budget(const RestartPolicy& policy) : policy_(policy) {}

  // `amount` of time in which steps were done. True when it refilled a budget that was in use.
  bool note_progress(base::Nanos amount);

  // Whether one more restart after such a fault is within the limits.
  [[nodiscard]] bool allows(FaultClass fault_class) const;
  // Counts a restart. `signature`: of a failure before first progress; else empty.
  void spend(FaultClass fault_class, const std::string& signature);

  // A start that failed and is put down to infrastructure; and one of every worker of an attempt.
  void note_failed_start(base::Nanos at);
  void note_started() { failed_starts_ = 0; }
  // In a row, and when the first of them was.
  [[nodiscard]] std::uint32_t failed_starts() const { return failed_starts_; }
  [[nodiscard]] base::Nanos failing_since() const { return failing_since_; }

  // True when a failure before first progress has been seen, and retried, often enough.
  [[nodiscard]] bool is_crash_loop(const std::string& signature) const;
  [[nodiscard]] bool port_may_conflict() const;

  // How long to wait before the next restart: nothing for the first since progress, then
  // exponential with a cap, between half and all of it by `random` (any 64 bits).
  [[nodiscard]] base::Nanos delay(std::uint64_t random) const;

  [[nodiscard]] std::uint32_t used() const { return used_; }
  [[nodiscard]] std::uint32_t used_uncounted() const { return uncounted_in_a_row_; }
  [[nodiscard]] const RestartPolicy& policy() const { return policy_; }

  template <class V>
  void fields(V& v) {
    v(1, "policy", policy_);
    v(2, "used", used_);
    v(3, "progress", progress_);
    v(4, "restarts_in_a_row", restarts_in_a_row_);
    v(5, "uncounted_in_a_row", uncounted_in_a_row_);
    v(6, "port_conflicts_in_a_row", port_conflicts_in_a_row_);
    v(7, "signature", signature_);
    v(8, "same_signature", same_signature_);
    v(9, "failed_starts", failed_starts_);
    v(10, "failing_since", failing_since_);
  }

 private:
  RestartPolicy policy_;
  std::uint32_t used_ = 0;
  base::Nanos progress_{};  // since the budget was full
  std::uint32_t restarts_in_a_row_ = 0;  // without progress between them
  std::uint32_t uncounted_in_a_row_ = 0;
  std::uint32_t port_conflicts_in_a_row_ = 0;
  std::string signature_;  // of the last failure before first progress
  std::uint32_t same_signature_ = 0;  // how many in a row had it
  std::uint32_t failed_starts_ = 0;  // in a row
  base::Nanos failing_since_{};  // the first of them
};

}  // namespace robustrun::supervisor
