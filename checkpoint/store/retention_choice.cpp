#include "checkpoint/store/retention_choice.h"

namespace robustrun::checkpoint {

bool RetentionChoice::may_go(const AttemptFacts& one, bool is_whole) {
  if (one.state == AttemptState::kDeleted) return true;
  if (one.state == AttemptState::kIncomplete) return one.generation < oldest_;
  if (one.state == AttemptState::kDamaged)
    return false;  // kept so that the cause can be investigated
  const std::size_t enough = one.is_local ? 1 : keep_;
  if (kept_ >= enough && !one.pinned) return true;
  if (is_whole && may_start_from(one) && !one.is_local) ++kept_;
  return false;
}

}  // namespace robustrun::checkpoint
