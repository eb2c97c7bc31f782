#pragma once
// What the journals of a site's own runs say together: how often which kind of failure comes, with
// the exposure it was seen in, and how long the stages take. And how that takes the place of
// assumed and of elsewhere measured numbers in the simulation. Pure.
//
// Failures that somebody made on purpose (`robustrun inject`) do not count for rates, but their
// times do for stages. A number that the user gave is never replaced.

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

// Failures below which their rate is hardly known: the interval is from 0.5 to 1.8 times of it.
inline constexpr std::uint32_t kFewFailures = 10;

struct SeenRate {
  std::uint32_t count = 0;
  Interval per_node_day;  // 95 %, Poisson
};

// Median of so many; nothing of none.
struct SeenTime {
  Nanos median{};
  std::uint32_t samples = 0;
};

struct Site {
  std::vector<std::string> runs;  // names
  double node_days = 0;
  std::uint32_t nodes = 0;    // of the run with most node-days
  SeenRate all;
  std::array<SeenRate, kKinds> by_kind;
  std::uint32_t unclear = 0;     // of those of kPassing: nobody could say what it was
  std::uint32_t on_purpose = 0;  // do not count above
  std::uint32_t by_user = 0;
  std::array<SeenTime, kStages> times;
  SeenTime step;
  SeenTime checkpoint_every, checkpoint_stall;
  bool every_is_guessed = false;  // from steps that were done twice
  double slow_factor = 1;         // of slow machines, mean; 1: none was seen
  bool is_warm = false;           // most restarts were of standby workers

  [[nodiscard]] const SeenTime& of(Stage stage) const {
    return times[static_cast<std::size_t>(stage)];
  }
  // Of the kind of start that was usual.
  [[nodiscard]] const SeenTime& script() const {
    return of(is_warm ? Stage::kScriptWarm : Stage::kScript);
  }
};

[[nodiscard]] Site site_of(const std::vector<RunRecord>& records);

// Of the failures that were seen; without any the model keeps its rate. `name`: becomes its name.
void use_rates(const Site& site, FailureModel& model);
void use_times(const Site& site, JobTerms& job, OwnTimes& own);
// Of failures too few to know their rate and the like; whole sentences.
[[nodiscard]] std::vector<std::string> doubts_of(const Site& site);

}  // namespace robustrun::simulator
