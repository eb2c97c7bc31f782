#include "simulator/study.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/core/result.h"
#include "simulator/published_run.h"

namespace robustrun::simulator {
namespace {

class Tally {
 public:
  void add(const Timeline& timeline, const CheckpointPlan& plan) {
    const Account account = account_for(timeline, plan);
    ettr_.push_back(account.ettr());
    if (account.incidents > 0) lost_.push_back(in_seconds(account.lost_per_incident()));
    sum_.add(account);
    gave_up_ += timeline.gave_up;
  }
  [[nodiscard]] PolicyResult result(std::string name, std::string about,
                                    const CheckpointPlan& plan) const {
    return {std::move(name), std::move(about), plan, interval_of(ettr_), interval_of(lost_), sum_,
            gave_up_};
  }

 private:
  std::vector<double> ettr_, lost_;
  Account sum_;
  std::uint32_t gave_up_ = 0;
};

// Multiples of the theoretical optimum.
constexpr std::array<double, 9> kMultiples = {0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10};

// Ascending; empty if checkpoints cost nothing, or nothing fails.
std::vector<IntervalResult> try_intervals(const std::vector<Timeline>& lines, Nanos stall,
                                          Nanos step, Nanos between_failures) {
  std::vector<IntervalResult> tried;
  if (stall == Nanos{} || between_failures == Nanos::max()) return tried;
  const Nanos optimum = young_daly(stall, between_failures);
  for (const double multiple : kMultiples) {
    const Nanos every = std::max(step, from_seconds(in_seconds(optimum) * multiple));
    if (!tried.empty() && every == tried.back().every) continue;
    Tally tally;
    for (const Timeline& line : lines) tally.add(line, {every, stall});
    tried.push_back({every, tally.result({}, {}, {}).ettr.mean});
  }
  return tried;
}

Nanos best_of(const std::vector<IntervalResult>& tried, Nanos otherwise) {
  if (tried.empty()) return otherwise;
  return std::ranges::max_element(tried, {}, &IntervalResult::ettr)->every;
}

// A small range is tried completely, a large one with strides.
constexpr std::uint32_t kSparesTried = 12;

void try_spares(const StudyRequest& request, std::uint32_t machines, Study& study) {
  if (request.seeds_for_spares == 0) return;
  JobTerms job = request.job;
  CheckpointPlan plan{job.checkpoint_every.value, job.checkpoint_stall.value};
  if (request.chooses_intervals && study.young_daly != Nanos{}) {
    plan.every = std::max(job.step.value, study.young_daly);
  }
  const std::uint32_t stride =
      std::max(1U, (request.most_spares + kSparesTried - 1) / kSparesTried);
  for (job.spares = 0; job.spares <= request.most_spares; job.spares += stride) {
    Tally tally;
    for (std::uint32_t i = 0; i < request.seeds_for_spares; ++i) {
      const std::uint64_t seed = request.first_seed + i;
      const auto trace = make_trace(request.failures, machines, job.duration, seed);
      tally.add(run_own(request.own, job, trace, seed), plan);
    }
    const Interval ettr = tally.result({}, {}, {}).ettr;
    study.spares.push_back({job.spares, ettr, ettr.mean * job.nodes / (job.nodes + job.spares)});
  }
  study.best_spares =
      std::ranges::max_element(study.spares, {}, &SparesResult::per_machine)->spares;
}

Nanos mean_pause(const PolicyResult& ours) {
  if (ours.sum.incidents == 0) return {};
  const Nanos paused = ours.sum.total - ours.sum.at(Phase::kProductive) -
                       ours.sum.at(Phase::kCheckpoint) - ours.sum.at(Phase::kLost);
  return paused / static_cast<Nanos::rep>(ours.sum.incidents);
}

}  // namespace

std::uint32_t standbys_for(const FailureModel& failures, std::uint32_t nodes) {
  const double daily = failures.rate(FaultKind::kGpu) + failures.rate(FaultKind::kMachine) +
                       failures.rate(FaultKind::kMaintenance) +
                       failures.rate(FaultKind::kHang) * failures.hang_stays.value;
  return standbys(nodes, 1 - std::exp(-daily));
}

Study run_study(const StudyRequest& request) {
  RR_ASSERT(request.seeds > 0);
  JobTerms job = request.job;
  // All runs of one seed meet the same trace, whatever their number of spares.
  const std::uint32_t machines = job.nodes + std::max(job.spares, request.most_spares);
  Study study;
  study.standbys = standbys_for(request.failures, job.nodes);
  study.between_failures = time_between_failures(job.nodes, request.failures.per_node_day.value);
  const Nanos stall = job.checkpoint_stall.value;
  if (stall != Nanos{} && study.between_failures != Nanos::max()) {
    study.young_daly = young_daly(stall, study.between_failures);
  }
  try_spares(request, machines, study);
  if (request.chooses_spares) job.spares = study.best_spares;
  study.spares_used = job.spares;
  std::vector<Timeline> own;
  std::vector<std::vector<Timeline>> others(request.compared.size());
  for (std::uint32_t i = 0; i < request.seeds; ++i) {
    const std::uint64_t seed = request.first_seed + i;
    const auto trace = make_trace(request.failures, machines, job.duration, seed);
    own.push_back(run_own(request.own, job, trace, seed));
    for (std::size_t k = 0; k < others.size(); ++k) {
      others[k].push_back(run_published(*request.compared[k], job, trace));
    }
  }
  const auto add = [&](std::string name, std::string about, const std::vector<Timeline>& lines,
                       CheckpointPlan plan) {
    if (request.chooses_intervals) {
      plan.every = best_of(try_intervals(lines, plan.stall, job.step.value, study.between_failures),
                           plan.every);
    }
    Tally tally;
    for (const Timeline& line : lines) tally.add(line, plan);
    study.policies.push_back(tally.result(std::move(name), std::move(about), plan));
  };
  add("robustrun", "the real core and its policy", own, {job.checkpoint_every.value, stall});
  for (std::size_t k = 0; k < others.size(); ++k) {
    const PublishedPolicy& policy = *request.compared[k];
    add(policy.name, policy.about, others[k], checkpoints_of(policy, job));
  }
  study.intervals = try_intervals(own, stall, job.step.value, study.between_failures);
  study.best_interval = best_of(study.intervals, job.checkpoint_every.value);
  const CheckpointPlan& plan = study.policies.front().checkpoints;
  study.closed_ettr = closed_ettr({job.nodes, request.failures.per_node_day.value,
                                   mean_pause(study.policies.front()), plan.every, plan.stall});
  return study;
}

}  // namespace robustrun::simulator
