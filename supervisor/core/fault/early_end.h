#pragma once
// Early ends: a worker ends with exit code 0 while others still train. It looks fine, and the
// others fail because it is missing. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/worker_events.h"

namespace robustrun::supervisor {

struct EarlyEnd {
  base::Rank rank;
  std::uint64_t steps = 0;           // steps that it had done; 0: unknown
  std::optional<std::int64_t> step;  // the script's own number of the last step
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "steps", steps);
    v(3, "step", step);
  }
};

// "rank 1 ended with 0 at step 100 while rank 0 waited in all_reduce". `ended`: at least one
// worker. `waiting`: may be empty ("others"). `operation`: empty when it is not known.
[[nodiscard]] std::string in_words(const std::vector<EarlyEnd>& ended,
                                   const std::vector<base::Rank>& waiting,
                                   const std::string& operation);

// The innermost function of torch.distributed in the traceback that the worker printed last:
// "all_reduce". Empty: the traceback shows none, as after an abort or in the backward pass.
[[nodiscard]] std::string operation_in_traceback(const WorkerExited& exited);

}  // namespace robustrun::supervisor
