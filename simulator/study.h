#pragma once
// The whole question in one: many seeds, several policies over the same traces, other numbers of
// spares, other checkpoint intervals. Pure; takes seconds to minutes for thousands of machines.

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
  // Of other numbers of spares: from 0 to so many, with so many of the seeds. 0 seeds: none.
  std::uint32_t most_spares = 0;
  std::uint32_t seeds_for_spares = 0;
  bool chooses_spares = false;  // the best of them, instead of job.spares
  std::optional<Site> site;  // what the journals say that numbers above are from; to be shown
};

struct PolicyResult {
  std::string name;
  std::string about;
  CheckpointPlan checkpoints;
  Interval ettr;
  Interval lost_s;      // per incident, outside checkpoints and the residual, in seconds
  Account sum;          // of all seeds
  std::uint32_t gave_up = 0;  // times that the job was started anew, of all seeds
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
  std::vector<PolicyResult> policies;  // ours first
  std::vector<SparesResult> spares;    // ascending; of many not every number
  std::uint32_t best_spares = 0;       // where per_machine is most; only with `spares`
  std::uint32_t standbys = 0;          // ByteRobust's rule, of the same failures
  std::vector<IntervalResult> intervals;  // ascending; of ours
  Nanos best_interval{};
  Nanos young_daly{};                  // 0: checkpoints cost nothing
  Nanos between_failures{};            // of all machines that train
  double closed_ettr = 0;              // arXiv 2410.21680, with our mean pause
};

[[nodiscard]] Study run_study(const StudyRequest& request);

// Spares by ByteRobust's rule: of what takes a machine away, within a day.
[[nodiscard]] std::uint32_t standbys_for(const FailureModel& failures, std::uint32_t nodes);

// Every figure that the study rests on, for people: "repair of a machine", "24 h".
struct KnownFigure {
  std::string name;
  std::string value;
  Origin origin = Origin::kAssumed;
  std::string source;
};
[[nodiscard]] std::vector<KnownFigure> figures_of(const StudyRequest& request);
// Of a run that is played again.
[[nodiscard]] std::vector<KnownFigure> figures_of(const JobTerms& job, const OwnTimes& times);

}  // namespace robustrun::simulator
