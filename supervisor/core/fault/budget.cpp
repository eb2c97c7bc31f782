#include "supervisor/core/fault/budget.h"

#include <algorithm>

#include "base/core/result.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

bool Budget::note_progress(base::Nanos amount) {
  uncounted_in_a_row_ = 0;
  port_conflicts_in_a_row_ = 0;
  signature_.clear();
  same_signature_ = 0;
  if (used_ == 0) return false;
  progress_ += std::max(amount, base::Nanos{});
  if (progress_ < policy_.window) return false;
  used_ = 0;
  progress_ = base::Nanos{};
  return true;
}

bool Budget::allows(FaultClass fault_class) const {
  switch (fault_class) {
    case FaultClass::kUser: return used_ < policy_.max_restarts;
    case FaultClass::kInfrastructure:
    case FaultClass::kPortConflict:
      return uncounted_in_a_row_ < policy_.max_infrastructure_restarts;
    case FaultClass::kPermanent: return false;
  }
  return false;
}

void Budget::spend(FaultClass fault_class, const std::string& signature) {
  RR_ASSERT(allows(fault_class));
  if (is_counted(fault_class)) {
    ++used_;
    same_signature_ = !signature.empty() && signature == signature_ ? same_signature_ + 1 : 1;
    signature_ = signature;
    return;
  }
  ++uncounted_in_a_row_;
  if (fault_class == FaultClass::kPortConflict) ++port_conflicts_in_a_row_;
}

void Budget::note_failed_start(base::Nanos at) {
  if (failed_starts_++ == 0) failing_since_ = at;
}

bool Budget::is_crash_loop(const std::string& signature) const {
  if (!policy_.crash_loop_stop || signature.empty()) return false;
  return times_seen(signature) > policy_.crash_loop_retries;
}

std::uint32_t Budget::times_seen(const std::string& signature) const {
  return signature == signature_ ? same_signature_ + 1 : 1;
}

bool Budget::port_may_conflict() const { return port_conflicts_in_a_row_ < kPortConflictsMax; }

}  // namespace robustrun::supervisor
