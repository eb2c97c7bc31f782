#include "supervisor/core/report/pace.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/core/words.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {
namespace {

constexpr double kTimeMax = 1e8;  // seconds: three years

std::optional<base::Nanos> steps_take(double steps, std::optional<double> steps_per_second) {
  if (!steps_per_second || !(*steps_per_second > 0)) return std::nullopt;
  const double seconds = steps / *steps_per_second;
  if (!(seconds < kTimeMax)) return std::nullopt;
  return base::Nanos(std::llround(seconds * 1e9));
}

}  // namespace

std::optional<double> PaceFold::Stretch::rate() const {
  if (steps == 0 || time <= base::Nanos{}) return std::nullopt;
  return static_cast<double>(steps) / std::chrono::duration<double>(time).count();
}

void PaceFold::take(const Progress& reading) {
  if (reading.steps == 0 || reading.reached_at == base::Nanos{}) return;
  if (!first_at_ || reading.attempt != attempt_) {
    earlier_.steps += current_.steps;
    earlier_.time = later(earlier_.time, current_.time);
    current_ = {};
    attempt_ = reading.attempt;
    first_at_ = reading.reached_at;
    first_steps_ = reading.steps;
  } else if (reading.reached_at > *first_at_ && reading.steps > first_steps_) {
    current_ = {reading.steps - first_steps_, elapsed(*first_at_, reading.reached_at)};
  }
}

std::optional<double> PaceFold::of(base::Attempt attempt) const {
  return attempt == attempt_ ? current_.rate() : std::nullopt;
}

std::optional<double> PaceFold::mean() const {
  return Stretch{earlier_.steps + current_.steps, later(earlier_.time, current_.time)}.rate();
}

std::optional<std::uint64_t> step_goal(std::optional<std::uint64_t> stop_after_steps,
                                       const std::vector<wire::Metric>& metrics) {
  if (stop_after_steps) return stop_after_steps;
  constexpr double kStepsMax = 1e15;  // a double has whole numbers up to 9e15
  const auto found = std::ranges::find(metrics, kStepsTotal, &wire::Metric::name);
  if (found == metrics.end() || !(found->value >= 1 && found->value < kStepsMax)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(found->value);
}

std::optional<base::Nanos> time_left(std::optional<std::uint64_t> goal, std::uint64_t steps,
                                     std::optional<std::int64_t> step,
                                     std::optional<double> steps_per_second) {
  const std::uint64_t done =
      step ? static_cast<std::uint64_t>(std::max<std::int64_t>(0, *step)) : steps;
  if (!goal || done >= *goal) return std::nullopt;
  return steps_take(static_cast<double>(*goal - done), steps_per_second);
}

base::Nanos step_time(std::optional<double> steps_per_second) {
  return steps_take(1, steps_per_second).value_or(base::Nanos{});
}

std::string eta_words(base::Nanos left) { return "ETA " + base::clock_words(left); }

}  // namespace robustrun::supervisor
