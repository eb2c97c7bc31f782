#pragma once
// What holds for the whole run: its specification, its seed and when it began. Part of the job's
// memory.

#include <cstdint>

#include "base/core/clock.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

struct Run {
  JobSpec spec;  // volunteers add their nodes to it (Nodes::add_volunteer)
  std::uint64_t seed = 0;
  base::Nanos started_at{};  // supervisor's clock
  base::Nanos wall_time{};   // Unix time at `started_at`

  [[nodiscard]] std::int64_t unix_seconds(base::Nanos moment) const {
    return std::chrono::floor<std::chrono::seconds>(wall_time + (moment - started_at)).count();
  }

  template <class V>
  void fields(V& v) {
    v(2, "spec", spec);
    v(3, "seed", seed);
    v(4, "started_at", started_at);
    v(5, "wall_time", wall_time);
  }
};

}  // namespace robustrun::supervisor
