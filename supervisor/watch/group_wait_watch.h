#pragma once
// Tells once per attempt for which ranks others have waited in init_process_group for long. Pure;
// the caller gives the time. Owned by the driver, on its loop.

#include <optional>
#include <string>

#include "base/core/clock.h"
#include "supervisor/core/status/group_wait.h"

namespace robustrun::supervisor {

class GroupWaitWatch {
 public:
  void begin_attempt(base::Nanos now);
  // Whether to look for such a wait now: a look at all ranks has its cost.
  [[nodiscard]] bool wants_look(base::Nanos now) const;
  // What a look found (group_wait_fold.h); returns what to log.
  std::optional<std::string> take(const std::optional<GroupWait>& found, const std::string& run_id,
                                  base::Nanos now);

 private:
  std::optional<base::Nanos> next_look_;  // none: no attempt has begun, or it was told
};

}  // namespace robustrun::supervisor
