#pragma once
// Tells once per attempt for which ranks others have been waiting in init_process_group for a long
// time. Pure; the caller gives the time. Owned by the driver, on its loop.

#include <optional>
#include <string>

#include "base/core/clock.h"
#include "supervisor/core/status/group_wait.h"

namespace robustrun::supervisor {

class GroupWaitWatch {
 public:
  void begin_attempt(base::Nanos now);
  // Whether to look for such a wait now; not always, as a look at all ranks is expensive.
  [[nodiscard]] bool wants_look(base::Nanos now) const;
  // Takes what a look found (group_wait_fold.h); returns what to log.
  std::optional<std::string> take(const std::optional<GroupWait>& found, const std::string& run_id,
                                  base::Nanos now);

 private:
  std::optional<base::Nanos> next_look_;  // nullopt: no attempt has begun, or the wait was told
};

}  // namespace robustrun::supervisor
