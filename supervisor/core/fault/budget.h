#pragma once
// How many restarts a run may still make; backoff.h has the wait before each of them. Pure.
//
// At most max_restarts restarts may follow counted faults (FaultClass::kUser). After `window` of
// progress all of them are available again. Restarts after uncounted faults (infrastructure) are
// limited only in their number since the last progress: max_infrastructure_restarts. Progress also
// clears the signature of the last failure. Failed starts have a separate count, which returns to 0
// when all workers of an attempt run. The limits are those of RestartPolicy.

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

  // `amount`: time of progress since the last call. True when this refilled a budget that was in
  // use.
  bool note_progress(base::Nanos amount);

  // Whether one more restart after a fault of this class is within the limits.
  [[nodiscard]] bool allows(FaultClass fault_class) const;
  // Counts a restart; requires allows(fault_class). `signature`: of the failure, if it came before
  // the first progress; otherwise empty.
  void spend(FaultClass fault_class, const std::string& signature);

  // An attempt could not be started because of an infrastructure fault, at time `at`.
  void note_failed_start(base::Nanos at);
  // Every worker of an attempt runs.
  void note_started() { failed_starts_ = 0; }
  // Failed starts in a row, and the time of the first of them.
  [[nodiscard]] std::uint32_t failed_starts() const { return failed_starts_; }
  [[nodiscard]] base::Nanos failing_since() const { return failing_since_; }

  // True when this failure has been seen more than crash_loop_retries times in a row, each time
  // before the first progress. False if crash_loop_stop is false or `signature` is empty.
  [[nodiscard]] bool is_crash_loop(const std::string& signature) const;
  // How often this failure has been seen in a row, including the present one.
  [[nodiscard]] std::uint32_t times_seen(const std::string& signature) const;
  // False after kPortConflictsMax port conflicts without progress: then the script itself must be
  // the cause.
  [[nodiscard]] bool port_may_conflict() const;

  [[nodiscard]] std::uint32_t used() const { return used_; }
  [[nodiscard]] std::uint32_t used_uncounted() const { return uncounted_in_a_row_; }
  [[nodiscard]] const RestartPolicy& policy() const { return policy_; }

  template <class V>
  void fields(V& v) {
    v(1, "policy", policy_);
    v(2, "used", used_);
    v(3, "progress", progress_);
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
  std::uint32_t uncounted_in_a_row_ = 0;
  std::uint32_t port_conflicts_in_a_row_ = 0;
  std::string signature_;  // of the last counted failure, if before the first progress
  std::uint32_t same_signature_ = 0;  // failures in a row with this signature
  std::uint32_t failed_starts_ = 0;  // in a row
  base::Nanos failing_since_{};  // time of the first failed start in a row
};

}  // namespace robustrun::supervisor
