#pragma once
// The combined evidence of a site's journals: how often each kind of failure occurs, over which
// exposure, and how long the stages take. These replace assumed numbers, and numbers measured
// elsewhere, in the simulation. Pure.
//
// Failures injected on purpose (`robustrun inject`) do not count for rates, but their stage times
// do. use_times() replaces no number that the user gave.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/failure_model.h"
#include "simulator/job_terms.h"
#include "simulator/own_times.h"
#include "simulator/run_record.h"
#include "simulator/statistics.h"

namespace robustrun::simulator {

// With this many failures the 95 % interval of the rate is 0.5 to 1.8 times the estimate; with
// fewer it is even wider.
inline constexpr std::uint32_t kFewFailures = 10;

struct SeenRate {
  std::uint32_t count = 0;
  Interval per_node_day;  // 95 %, Poisson
};

// The median of `samples` times; 0 without samples.
struct SeenTime {
  Nanos median{};
  std::uint32_t samples = 0;
};

struct Site {
  std::vector<std::string> runs;  // names
  double node_days = 0;
  std::uint32_t nodes = 0;    // of the run with the most node-days
  SeenRate all;
  std::array<SeenRate, kKinds> by_kind;
  std::uint32_t unclear = 0;     // counted as kPassing because their cause is unknown
  std::uint32_t on_purpose = 0;  // injected; not in `all` and `by_kind`
  std::uint32_t by_user = 0;  // restarts for updates; stops by users, the scheduler or a time limit
  std::array<SeenTime, kStages> times;
  SeenTime step;
  SeenTime checkpoint_every, checkpoint_stall;
  bool every_is_guessed = false;  // checkpoint_every is estimated from steps done again
  double slow_factor = 1;  // mean of slow machines; 1: none was seen
  bool is_warm = false;  // most restarts used standby workers

  [[nodiscard]] const SeenTime& of(Stage stage) const {
    return times[static_cast<std::size_t>(stage)];
  }
  // Times from the start of the workers to the first step, in the usual kind of start.
  [[nodiscard]] const SeenTime& script() const {
    return of(is_warm ? Stage::kScriptWarm : Stage::kScript);
  }
};

[[nodiscard]] Site site_of(const std::vector<RunRecord>& records);

// Replaces the model's rate and mix, and slow_factor if slow machines were seen, even if the user
// gave these; replaces slow_for only if the user did not give it. Replaces nothing if there was no
// failure. The model's name becomes "journals".
void use_rates(const Site& site, FailureModel& model);
// Replaces the times for which the site has samples, except those that the user gave. A start seen
// in journals includes load and residual, which then become 0.
void use_times(const Site& site, JobTerms& job, OwnTimes& own);
// Warnings about too few failures and the like; whole sentences.
[[nodiscard]] std::vector<std::string> doubts_of(const Site& site);

}  // namespace robustrun::simulator
