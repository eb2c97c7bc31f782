#pragma once
// The complete study: many seeds, several policies over the same traces, different numbers of
// spares and checkpoint intervals. Pure; takes seconds to minutes for thousands of machines.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/closed_form.h"
#include "simulator/own_run.h"
#include "simulator/published_policy.h"
#include "simulator/site.h"
#include "simulator/statistics.h"

namespace robustrun::simulator {

struct StudyRequest {
  FailureModel failures;
  JobTerms job;
  OwnPolicy own;
  std::uint32_t seeds = 20;
  std::uint64_t first_seed = 1;
  std::vector<const PublishedPolicy*> compared;
  // Tries 0 to `most_spares` spares with the first `seeds_for_spares` seeds; 0 seeds: tries none.
  std::uint32_t most_spares = 0;
  std::uint32_t seeds_for_spares = 0;
  bool chooses_spares = false;  // uses the best number instead of job.spares
  // Gives each policy the best interval for its own checkpoints, instead of job.checkpoint_every
  // and published intervals.
  bool chooses_intervals = false;
  std::optional<Site> site;  // the journals behind these numbers; for display
};

struct PolicyResult {
  std::string name;
  std::string about;
  CheckpointPlan checkpoints;
  Interval ettr;
  // Seconds per incident: all time that is not productive, without checkpoint stalls and
  // Phase::kResidual (Account::lost_per_incident()).
  Interval lost_s;
  Account sum;  // of all seeds
  std::uint32_t gave_up = 0;  // how often the job was started anew, over all seeds
};

struct SparesResult {
  std::uint32_t spares = 0;
  Interval ettr;
  double per_machine = 0;  // ETTR times the share of all machines that train
};

struct IntervalResult {
  Nanos every{};
  double ettr = 0;  // mean
};

struct Study {
  std::uint32_t spares_used = 0;
  std::vector<PolicyResult> policies;  // robustrun first
  std::vector<SparesResult> spares;  // ascending; a large range is sampled
  std::uint32_t best_spares = 0;  // the one with the best per_machine; 0 if `spares` is empty
  std::uint32_t standbys = 0;  // by ByteRobust's rule, for the same failures
  std::vector<IntervalResult> intervals;  // ascending; for robustrun; empty if young_daly is 0
  Nanos best_interval{};
  Nanos young_daly{};  // 0: checkpoints cost nothing, or nothing fails
  Nanos between_failures{};  // mean time until any machine that trains fails
  double closed_ettr = 0;  // of closed_form.h, with robustrun's mean pause
};

[[nodiscard]] Study run_study(const StudyRequest& request);

// ByteRobust's rule (standbys() in closed_form.h): the least number of spares that, with a
// probability of 99 %, suffices for one day. Counts the faults that take a machine away.
[[nodiscard]] std::uint32_t standbys_for(const FailureModel& failures, std::uint32_t nodes);

}  // namespace robustrun::simulator
