#include "supervisor/pace_watch.h"

#include <algorithm>
#include <vector>

#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

base::Nanos median(std::vector<base::Nanos> values) {
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
  if (periods_.size() >= kPaceWindowsToLearn) {
    const base::Nanos usual = median({periods_.begin(), periods_.end()});
    if (period * kPacePerCent > usual * (kPacePerCent + kPaceSlowerPerCent)) {
      ++slow_windows_;
      return;  // what is slow must not become usual by itself
    }
  }
  slow_windows_ = 0;
  periods_.push_back(period);
  if (periods_.size() > kPaceWindowsKept) periods_.pop_front();
}

void PaceWatch::accept() {
  periods_.clear();
  slow_windows_ = 0;
}

}  // namespace robustrun::supervisor
