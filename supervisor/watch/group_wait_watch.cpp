#include "supervisor/watch/group_wait_watch.h"

#include <fmt/core.h>

#include "supervisor/limits.h"

namespace robustrun::supervisor {

void GroupWaitWatch::begin_attempt(base::Nanos now) { next_look_ = now + kGroupWaitSaidAfter; }

bool GroupWaitWatch::wants_look(base::Nanos now) const { return next_look_ && now >= *next_look_; }

std::optional<std::string> GroupWaitWatch::take(const std::optional<GroupWait>& found,
                                                const std::string& run_id, base::Nanos now) {
  if (!found || found->lasting < kGroupWaitSaidAfter) {
    next_look_ = now + kGroupWaitLooksApart;
    return std::nullopt;
  }
  next_look_.reset();
  return fmt::format("waiting {}; stacks: robustrun diagnose {}", in_words(*found), run_id);
}

}  // namespace robustrun::supervisor
