#pragma once
// A virtual cluster from its first event to its end.

#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

inline void Cluster::wire_up() {
  world_.say = [this](base::NodeId node, base::Generation generation, core::EventBody body) {
    if (former_ && former_->heard.contains(node)) {
      queue_.after(milliseconds(2), [this, by = former_, node, generation, body] {
        if (by->heard.contains(node)) tell_former(by, {queue_.now(), node, generation, body});
      });
    }
    transmit(from_[node.value],
             [this, node, generation, body = std::move(body)] { hear(node, generation, body); });
  };
  world_.lost = [this](base::NodeId node, base::Generation generation, const core::AgentLost& how) {
    notice_loss(node, generation, how);
  };
  world_.clock = [this](base::NodeId node) { return clocks_[node.value].shows(queue_.now()); };
  world_.spawned = [this](base::NodeId node, base::Attempt attempt, base::Rank rank) {
    const VirtualNode& here = nodes_[node.value];
    invariants_.never_two_attempts_alive(here.runs_older_than(attempt), node, attempt);
    // An agent that has not accepted the newest supervisor is not admitted by it.
    const auto is_led = [this](const VirtualNode& one) { return one.accepted() == incarnation_; };
    if (!is_led(here)) return;
    for (const VirtualNode& other : nodes_) {
      const bool counts = invariants_.groups().is_admitted(other.id()) && is_led(other);
      invariants_.never_two_attempts_alive(counts && other.runs_older_than(attempt), other.id(),
                                           attempt);
      const bool is_twice = counts && other.id() != node && other.runs(attempt, rank);
      invariants_.no_rank_lives_twice(is_twice, other.id(), rank);
    }
  };
  world_.hangs = [this](base::Attempt attempt) {
    return hang_ && hang_->attempt == attempt && queue_.now() < hang_->until;
  };
  world_.disturbed = [this] { invariants_.disturbed(); };
}

inline void Cluster::arm(const core::SetTimer& timer) {
  if (mutation_ == Mutation::kLazyTimers) return;
  if (mutation_ == Mutation::kForgetsBackoff && timer.id == core::TimerId::kBackoff) return;
  armed_[timer.id] = timer.sequence;
  queue_.at(timer.at, [this, timer, by = incarnation_] {
    const core::Event fired{queue_.now(), {}, {}, core::TimerFired{timer.id, timer.sequence}};
    if (by != incarnation_) {
      const bool counts =
          former_ && former_->incarnation == by && former_->armed[timer.id] == timer.sequence;
      return counts ? tell_former(former_, fired) : void();
    }
    if (armed_[timer.id] != timer.sequence) return;
    tell({}, {}, core::TimerFired{timer.id, timer.sequence});
  });
}

inline Outcome Cluster::run() {
  core::RunStarted started;
  started.spec = told_spec(mutation_, scenario_.spec);
  started.seed = scenario_.seed;
  started.wall_time = seconds(1'700'000'000);
  tell({}, {}, started);
  plan_orders();
  plan_troubles();
  plan_disk_troubles();
  if (scenario_.ends_up_calm()) {
    queue_.at(scenario_.calm_from + Scenario::kSettled, [this] { check_calm(); });
  }
  if (scenario_.flaps + scenario_.breaks + scenario_.node_ends + scenario_.departs > 0) {
    queue_.after(minutes(1), [this] { follow_health(); });
  }
  const auto over = [this] {
    return outcome_.exit_code ? queue_.now() > outcome_.duration + kAftermath
                              : queue_.now() > scenario_.latest_end;
  };
  while (!queue_.empty() && !invariants_.violation() && !over()) queue_.step();
  invariants_.every_run_ends(outcome_.exit_code.has_value());
  for (const VirtualNode& node : nodes_) {
    invariants_.nothing_outlives_the_run(outcome_.exit_code && node.anything_alive());
  }
  if (outcome_.exit_code) check_fold();
  invariants_.time_adds_up(core::build_report(journal_));
  outcome_.violation = invariants_.violation();
  outcome_.trace_hash = trace_.hash();
  outcome_.records = journal_.size();
  outcome_.rules = invariants_.rules();
  outcome_.rows = coverage_.rows();
  outcome_.right_evictions = invariants_.right_evictions();
  outcome_.struck = fates_.struck();
  return outcome_;
}

}  // namespace robustrun::sim
