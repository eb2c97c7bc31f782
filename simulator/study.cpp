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

void try_intervals(const StudyRequest& request, const std::vector<Timeline>& lines, Study& study) {
  const Nanos stall = request.job.checkpoint_stall.value;
  if (stall == Nanos{} || study.between_failures == Nanos::max()) {
    study.best_interval = request.job.checkpoint_every.value;
    return;
  }
  study.young_daly = young_daly(stall, study.between_failures);
  for (const double multiple : kMultiples) {
    const Nanos every =
        std::max(request.job.step.value, from_seconds(in_seconds(study.young_daly) * multiple));
    if (!study.intervals.empty() && every == study.intervals.back().every) continue;
    Tally tally;
    for (const Timeline& line : lines) tally.add(line, {every, stall});
    study.intervals.push_back({every, tally.result({}, {}, {}).ettr.mean});
  }
  study.best_interval = std::ranges::max_element(study.intervals, {}, &IntervalResult::ettr)->every;
}

// A small range is tried completely, a large one with strides.
constexpr std::uint32_t kSparesTried = 12;

void try_spares(const StudyRequest& request, std::uint32_t machines, Study& study) {
  if (request.seeds_for_spares == 0) return;
  JobTerms job = request.job;
  const CheckpointPlan plan{job.checkpoint_every.value, job.checkpoint_stall.value};
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
  try_spares(request, machines, study);
  if (request.chooses_spares) job.spares = study.best_spares;
  study.spares_used = job.spares;
  std::vector<Timeline> lines;
  const CheckpointPlan plan{job.checkpoint_every.value, job.checkpoint_stall.value};
  Tally own;
  std::vector<Tally> others(request.compared.size());
  for (std::uint32_t i = 0; i < request.seeds; ++i) {
    const std::uint64_t seed = request.first_seed + i;
    const auto trace = make_trace(request.failures, machines, job.duration, seed);
    lines.push_back(run_own(request.own, job, trace, seed));
    own.add(lines.back(), plan);
    for (std::size_t k = 0; k < others.size(); ++k) {
      const PublishedPolicy& policy = *request.compared[k];
      others[k].add(run_published(policy, job, trace), checkpoints_of(policy, job));
    }
  }
  study.policies.push_back(own.result("robustrun", "the real core and its policy", plan));
  for (std::size_t k = 0; k < others.size(); ++k) {
    const PublishedPolicy& policy = *request.compared[k];
    study.policies.push_back(
        others[k].result(policy.name, policy.about, checkpoints_of(policy, job)));
  }
  try_intervals(request, lines, study);
  study.closed_ettr = closed_ettr({job.nodes, request.failures.per_node_day.value,
                                   mean_pause(study.policies.front()), plan.every, plan.stall});
  return study;
}

}  // namespace robustrun::simulator
