#pragma once
// How many steps a run does per second, and how long its remaining steps take, as far as its
// journal tells. The status, the report and the live line show these. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

struct Progress;

// Rates of steps. Each attempt counts from its first step on, so the time of starts and restarts is
// not part of a rate.
class PaceFold {
 public:
  // The run's readings, in order.
  void take(const Progress& reading);
  // Steps per second of `attempt`; nullopt: unknown, or the last reading is of another attempt.
  [[nodiscard]] std::optional<double> of(base::Attempt attempt) const;
  // Steps per second of all attempts; nullopt: unknown.
  [[nodiscard]] std::optional<double> mean() const;

 private:
  struct Stretch {
    std::uint64_t steps = 0;
    base::Nanos time{};
    [[nodiscard]] std::optional<double> rate() const;
  };

  Stretch earlier_;  // of earlier attempts
  Stretch current_;  // of attempt_
  base::Attempt attempt_;
  std::optional<base::Nanos> first_at_;  // of attempt_'s first reading with steps
  std::uint64_t first_steps_ = 0;
};

// The metric by which a script, or a line of its log, says how many steps it will do.
inline constexpr std::string_view kStepsTotal = "steps_total";
// The step after which the run is over: the value of --stop-after-steps if it is given, otherwise
// that of the metric kStepsTotal. nullopt: neither is known.
[[nodiscard]] std::optional<std::uint64_t> step_goal(std::optional<std::uint64_t> stop_after_steps,
                                                     const std::vector<wire::Metric>& metrics);
// The time until `goal` (step_goal()) is reached at this rate. `step`: number of the last step; if
// unknown, the count `steps` is used. nullopt: there is no goal, it is reached, or the rate gives
// no sensible time.
[[nodiscard]] std::optional<base::Nanos> time_left(std::optional<std::uint64_t> goal,
                                                   std::uint64_t steps,
                                                   std::optional<std::int64_t> step,
                                                   std::optional<double> steps_per_second);
// How long one step takes, 0 if that is unknown or makes no sense.
[[nodiscard]] base::Nanos step_time(std::optional<double> steps_per_second);
// "ETA 0:06", "ETA 6:16:40"
[[nodiscard]] std::string eta_words(base::Nanos left);

}  // namespace robustrun::supervisor
