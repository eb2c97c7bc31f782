#pragma once
// Hangs and slow ranks. In most runs agents' snapshots pass through the real analyzer and hang
// watch; in the others verdicts are invented, so that the core meets every kind, including
// nonsense.

#include "tests/sim/cluster/cluster.h"
#include "tracer/analysis/analyze.h"

namespace robustrun::sim {

inline void Cluster::follow_hang(base::Attempt attempt) {
  hang_watch_.note_steps(steps_, queue_.now());
  auto dice = fates_.draw(queue_.now(), Mishap::kHang, 0, scenario_.hangs);
  if (!dice) return;
  invariants_.disturbed();
  if (scenario_.has_tracer) return begin_hang(attempt, *dice);
  using Stage = core::Diagnosed::Stage;
  core::Diagnosed found{attempt, Stage::kSuspected, {}, {}, {}, {}};
  found.verdict.finding =
      dice->chance(0.2) ? tracer::Finding::kMismatch : tracer::Finding::kNeverEntered;
  found.verdict.sentence = "ranks wait for another";
  for (std::uint64_t i = 1 + dice->below(3); i > 0; --i) {
    found.verdict.culprits.push_back({static_cast<std::uint32_t>(dice->below(world_size_ + 1))});
  }
  tell({}, {}, found);
  found.stage = dice->chance(0.3) ? Stage::kPassed : Stage::kConvicted;
  later(dice->between(seconds(1), seconds(40)), [this, found] { tell({}, {}, found); });
}

// One rank does not reach the next operation, for a while or for ever.
inline void Cluster::begin_hang(base::Attempt attempt, Dice& dice) {
  if (hang_ || world_size_ < 2) return;
  hang_.emplace(Hang{attempt,
                     {static_cast<std::uint32_t>(dice.below(world_size_))},
                     dice.chance(0.3),
                     queue_.now()});
  const bool is_over = scenario_.spec.compat || dice.chance(0.4);  // compat mode does not act on it
  if (is_over) hang_->until = queue_.now() + dice.between(seconds(2), minutes(2));
  queue_.after(dice.between(seconds(5), seconds(20)), [this, attempt] { watch_hang(attempt); });
}

// An agent reports a long wait of a worker, again if the report was lost; the rest is as in a real
// driver.
inline void Cluster::watch_hang(base::Attempt attempt) {
  constexpr Nanos kExpected = seconds(1);
  constexpr Nanos kLast = minutes(20);
  if (!hang_ || hang_->attempt != attempt || outcome_.exit_code) return;
  if (followed_.value != attempt.value + 1) return;
  const Nanos now = queue_.now();
  const bool is_over = now >= hang_->until;
  if (!is_down_ && job_.state() == core::JobState::kRunning) {
    const base::Rank waits{hang_->victim.value == 0 ? 1U : 0U};
    hang_watch_.note_overdue(waits, 1, is_over, kExpected);
    if (hang_watch_.wants_look(now)) {
      hang_watch_.begin_look(now);
      const tracer::FleetSnapshot fleet = look_at_workers(attempt, is_over ? std::nullopt : hang_);
      later(milliseconds(80), [this, fleet, attempt] { judge(fleet, attempt); });
    }
  }
  if (is_over && now > hang_->until + seconds(30)) return hang_.reset();
  if (now > hang_->began + kLast) return;
  queue_.after(seconds(1), [this, attempt] { watch_hang(attempt); });
}

// Snapshots of workers with known activity.
inline tracer::FleetSnapshot Cluster::look_at_workers(base::Attempt attempt,
                                                      const std::optional<Hang>& hang) {
  std::vector<SeenWorker> seen;
  for (const VirtualNode& node : nodes_) {
    if (!lines_[node.id().value].is_up) continue;
    for (const base::Rank rank : node.ranks_alive(attempt)) seen.push_back({rank, node.id()});
  }
  std::ranges::sort(seen, {}, &SeenWorker::rank);
  std::optional<Hang> shown = hang;
  if (shown && mutation_ == Mutation::kBlamesNeighbours) {
    shown->victim.value = (shown->victim.value + 1) % world_size_;
  }
  return snapshot_of(seen, world_size_, shown, queue_.now());
}

inline void Cluster::judge(const tracer::FleetSnapshot& fleet, base::Attempt attempt) {
  if (followed_.value != attempt.value + 1 || job_.state() != core::JobState::kRunning) {
    return hang_watch_.give_up_look(queue_.now());
  }
  const tracer::Verdict verdict = tracer::analyze(fleet);
  for (core::Diagnosed& diagnosed : hang_watch_.take(verdict, queue_.now())) {
    // A stall that lasts too long ends the attempt even without a culprit.
    const auto& culprits = diagnosed.verdict.culprits;
    const bool is_named =
        diagnosed.stage == core::Diagnosed::Stage::kConvicted && !culprits.empty();
    if (is_named && hang_) {
      invariants_.the_right_rank_is_named(culprits == std::vector<base::Rank>{hang_->victim},
                                          diagnosed.verdict);
      for (const VirtualNode& node : nodes_) {
        const auto ranks = node.ranks_alive(attempt);
        if (std::ranges::find(ranks, hang_->victim) != ranks.end()) {
          invariants_.convicted(node.id());
        }
      }
      ++outcome_.convictions;
    }
    tell({}, {}, std::move(diagnosed));
  }
}

// In a quarter of the runs a rank is slow: always the same, a random one, or for a while.
inline core::Diagnosed Cluster::look_at_pace(core::Diagnosed::Stage stage, std::uint64_t round) {
  core::Diagnosed found{job_.attempt(), stage, {}, {}, seconds(5), seconds(2)};
  const std::uint64_t kind = scenario_.seed / 4 % 3;
  const std::uint64_t number = kind == 1 ? round : scenario_.seed;
  const base::Rank rank{static_cast<std::uint32_t>(number % std::max(world_size_, 1U))};
  if (kind == 2 && round % 3 == 0) found.period = seconds(2);
  if (scenario_.has_tracer) {
    tracer::FleetSnapshot fleet = look_at_workers(job_.attempt(), {});
    slow_down(fleet, rank);
    found.verdict = tracer::analyze(fleet);
    const bool is_whole = fleet.ranks.size() == world_size_ && world_size_ > 1;
    const bool is_right = found.verdict.culprits == std::vector<base::Rank>{rank};
    invariants_.the_right_rank_is_named(is_right || !is_whole, found.verdict);
    return found;
  }
  found.verdict.finding = tracer::Finding::kSlowRank;
  found.verdict.culprits = {rank};
  found.verdict.sentence = "a rank is slow";
  return found;
}

}  // namespace robustrun::sim
