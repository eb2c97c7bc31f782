#include "supervisor/watch/pace_looks.h"

#include <algorithm>

#include "supervisor/limits.h"

namespace robustrun::supervisor {

void PaceLooks::begin_attempt(std::uint32_t world_size) {
  *this = PaceLooks();
  least_ = world_size * kPaceLookPerRank;
  interval_ = std::max<base::Nanos>(kPaceLookFirst, least_);
}

void PaceLooks::note_steps(std::uint64_t steps, base::Nanos now) {
  if (!next_ && steps > 0) next_ = now + interval_;
}

bool PaceLooks::is_due(base::Nanos now) const { return !is_looking_ && next_ && now >= *next_; }

void PaceLooks::hasten(base::Nanos now) {
  if (!next_) return;
  const base::Nanos rest = std::max<base::Nanos>(kPaceLookLater, least_);
  if (!hastened_at_ || now - *hastened_at_ >= rest) hastened_at_ = now;
  if (is_in_haste(now)) next_ = std::min(*next_, std::max(now, began_ + kPaceLookAgain));
}

bool PaceLooks::is_in_haste(base::Nanos now) const {
  return hastened_at_ && now - *hastened_at_ <= kPaceHaste;
}

void PaceLooks::begin(base::Nanos now) {
  is_looking_ = true;
  began_ = now;
  next_ = now + interval_;
  interval_ = std::min(2 * interval_, std::max<base::Nanos>(kPaceLookLater, least_));
}

bool PaceLooks::take(const tracer::Verdict* verdict, base::Nanos now) {
  is_looking_ = false;
  const bool is_slow = verdict != nullptr && tracer::is_slowness(verdict->finding);
  if (!is_slow) {
    named_.reset();
    return false;
  }
  const bool again = named_ && named_->finding == verdict->finding &&
                     named_->culprits == verdict->culprits && named_->edges == verdict->edges;
  named_ = *verdict;
  const base::Nanos wait = is_in_haste(now) ? base::Nanos(kPaceLookAgain)
                                            : std::max<base::Nanos>(kPaceLookAgain, least_);
  if (!again) next_ = std::min(*next_, now + wait);
  return again;
}

}  // namespace robustrun::supervisor
