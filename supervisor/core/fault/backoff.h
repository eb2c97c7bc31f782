#pragma once
// Back-off: how long to wait before the next try. Pure.
//
// The waits double up to a limit. There are waits between restarts of the workers (Backoff),
// between launches of a node's agent (job/nodes/agents.h) and between restarts for a larger group
// (job/phases/growth.h).

#include <cstdint>

#include "base/core/clock.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

// `first`, doubled `times` times (at most kBackoffDoublingsMax), but no more than `max`.
[[nodiscard]] base::Nanos doubled(base::Nanos first, std::uint32_t times, base::Nanos max);

// The wait before a restart of the workers. The full wait is 0 for the first restart since progress
// and backoff_first for the second. Then it doubles with each restart, up to backoff_max
// (RestartPolicy).
class Backoff {
 public:
  void note_restart() { ++restarts_in_a_row_; }
  void note_progress() { restarts_in_a_row_ = 0; }

  // Between half and all of the full wait, picked by `random` (any 64 bits), so that jobs that
  // failed together do not restart together.
  [[nodiscard]] base::Nanos delay(const RestartPolicy& policy, std::uint64_t random) const;

  template <class V>
  void fields(V& v) {
    v(1, "restarts_in_a_row", restarts_in_a_row_);
  }

 private:
  std::uint32_t restarts_in_a_row_ = 0;  // without progress between them
};

}  // namespace robustrun::supervisor
