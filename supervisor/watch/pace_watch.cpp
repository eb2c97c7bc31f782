#include "supervisor/watch/pace_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

base::Nanos median(const std::deque<base::Nanos>& periods) {
  std::vector<base::Nanos> values(periods.begin(), periods.end());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void PaceWatch::note(std::uint64_t steps, base::Nanos now) {
  if (began_ == base::Nanos{} || steps < steps_) {
    *this = PaceWatch();
    steps_ = steps;
    began_ = now;
    return;
  }
  const std::uint64_t done = steps - steps_;
  if (done < kPaceStepsMin || now - began_ < kPaceWindowMin) return;
  close_window((now - began_) / static_cast<std::int64_t>(done));
  steps_ = steps;
  began_ = now;
}

void PaceWatch::close_window(base::Nanos period) {
  newest_ = period;
  if (!before_.empty() && period * kPacePerCent <= median(before_) * kPaceRecoveredPerCent) {
    periods_ = std::exchange(before_, {});
    recovered_ = true;
  }
  if (periods_.size() >= kPaceWindowsToLearn) {
    const base::Nanos usual = median(periods_);
    if (period * kPacePerCent > usual * (kPacePerCent + kPaceSlowerPerCent)) {
      ++slow_windows_;
      return;  // what is slow must not become usual by itself
    }
  }
  slow_windows_ = 0;
  periods_.push_back(period);
  if (periods_.size() <= kPaceWindowsKept) return;
  periods_.pop_front();
  before_.clear();
}

base::Nanos PaceWatch::usual() const {
  if (!before_.empty()) return median(before_);
  return is_slow() ? median(periods_) : base::Nanos{};
}

bool PaceWatch::take_recovery() { return std::exchange(recovered_, false); }

void PaceWatch::accept() {
  if (before_.empty()) before_ = std::move(periods_);
  periods_.clear();
  slow_windows_ = 0;
}

}  // namespace robustrun::supervisor
