#include "supervisor/core/fault/budget.h"

#include <algorithm>

#include "base/core/result.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

bool Budget::note_progress(base::Nanos amount) {
  restarts_in_a_row_ = 0;
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
  ++restarts_in_a_row_;
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
  const std::uint32_t seen = signature == signature_ ? same_signature_ + 1 : 1;
  return seen > policy_.crash_loop_retries;
}

bool Budget::port_may_conflict() const { return port_conflicts_in_a_row_ < kPortConflictsMax; }

base::Nanos Budget::delay(std::uint64_t random) const {
  if (restarts_in_a_row_ == 0 || policy_.backoff_first <= base::Nanos{}) return base::Nanos{};
  base::Nanos full = policy_.backoff_first;
  const std::uint32_t doublings = std::min(restarts_in_a_row_ - 1, kBackoffDoublingsMax);
  for (std::uint32_t i = 0; i < doublings && full < policy_.backoff_max; ++i) {
    full = full > policy_.backoff_max / 2 ? policy_.backoff_max : full * 2;
  }
  full = std::min(full, policy_.backoff_max);
  const auto half = static_cast<std::uint64_t>(full.count()) / 2;
  return base::Nanos(static_cast<base::Nanos::rep>(half + random % (half + 1)));
}

}  // namespace robustrun::supervisor
