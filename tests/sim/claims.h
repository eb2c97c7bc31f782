#pragma once
// Claims about a run, each checked where it can be observed, and the first one that did not hold.

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

#include "supervisor/core/report/report.h"
#include "tests/sim/trace.h"

namespace robustrun::sim {

class Claims {
 public:
  struct Violation {
    std::string rule, what;
  };
  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }

  // `objection`: the violation in words; empty: none.
  void holds(const char* rule, std::string objection) {
    if (!objection.empty()) violate(rule, std::move(objection));
  }
  void never_two_attempts_alive(bool another_alive, base::NodeId node, base::Attempt attempt) {
    if (!another_alive) return;
    violate("never_two_attempts_alive",
            fmt::format("node {} runs attempt {} beside an older one", node.value, attempt.value));
  }
  void no_lower_incarnation_is_obeyed(std::uint32_t by, std::uint32_t accepted, base::NodeId node) {
    if (by >= accepted) return;
    violate("no_lower_incarnation_is_obeyed",
            fmt::format("n{} obeys {} after {}", node.value, by, accepted));
  }
  void no_rank_lives_twice(bool so, base::NodeId node, base::Rank rank) {
    if (so)
      violate("no_rank_lives_twice", fmt::format("rank {} on n{}, too", rank.value, node.value));
  }
  void nobody_loads_before_copies_are_saved(bool so, base::NodeId node) {
    if (!so) violate("nobody_loads_before_copies_are_saved", fmt::format("n{}", node.value));
  }
  void the_past_is_not_obeyed(bool so, const core::Event& event) {
    if (!so) violate("the_past_is_not_obeyed", words_of(event));
  }
  void every_wait_has_a_deadline(bool so, core::JobState state) {
    if (!so) violate("every_wait_has_a_deadline", core::to_string(state));
  }
  void replays_are_alone(bool so, const core::ReplayNodes& replay) {
    if (!so) violate("replays_are_alone", words_of(replay));
  }
  void the_shadow_agrees(bool so) {
    if (!so) violate("the_shadow_agrees", "the journal keeps less of an event than the job heard");
  }
  void replay_restores_the_state(bool same) {
    if (!same) violate("replay_restores_the_state", "the journal's fold differs from the job");
  }
  void the_journal_restores_the_state(bool same) {
    if (!same) violate("the_journal_restores_the_state", "what was read differs from the job");
  }
  void every_run_ends(bool ended) {
    if (!ended) violate("every_run_ends", "the run goes on for ever");
  }
  void nothing_outlives_the_run(bool alive) {
    if (alive) violate("nothing_outlives_the_run", "a worker lives after the end");
  }
  // The report's times add up to the whole, without gaps, whatever the clocks of nodes show.
  void time_adds_up(const core::RunReport& report) {
    Nanos sum{}, at{};
    const double ettr = report.time.ettr.value_or(0);  // none: no step was done
    bool is_whole = ettr >= 0 && ettr <= 1;
    for (const core::TimeShare& share : report.time.shares) {
      is_whole = is_whole && share.duration >= Nanos{};
      sum += share.duration;
    }
    for (const core::Stretch& stretch : report.time.timeline) {
      is_whole = is_whole && stretch.from == at && stretch.to >= stretch.from;
      at = stretch.to;
    }
    if (!is_whole || sum != report.duration || at != report.duration) {
      violate("time_adds_up", fmt::format("{} of {} ns", sum.count(), report.duration.count()));
    }
  }
  void the_right_rank_is_named(bool so, const tracer::Verdict& verdict) {
    if (!so) violate("the_right_rank_is_named", verdict.sentence);
  }
  // Among the checkpoints that present directories show and that are not marked.
  void the_newest_is_found(bool so) {
    if (!so) violate("the_newest_is_found", "another checkpoint is");
  }
  void late_writers_commit_nothing(bool so) {
    if (!so) violate("late_writers_commit_nothing", "it was admitted");
  }
  // Sessions are ordered by supervisor, then by attempt.
  void only_the_admitted_save(bool so) {
    if (!so) violate("only_the_admitted_save", "another one does, or it may not");
  }
  // Of all workers of one attempt, those that its supervisor has ordered.
  void workers_are_of_the_order_that_counts(bool so, const core::Event& event) {
    if (!so) violate("workers_are_of_the_order_that_counts", words_of(event));
  }
  void retention_spares_the_newest(bool so) {
    if (!so) violate("retention_spares_the_newest", "the newest whole one is gone");
  }
  void copies_are_not_awaited_too_long(bool so) {
    if (!so) violate("copies_are_not_awaited_too_long", "the back-off goes on");
  }

 protected:
  void violate(const char* rule, std::string what) {
    if (!violation_) violation_ = Violation{rule, std::move(what)};
  }

 private:
  std::optional<Violation> violation_;
};

}  // namespace robustrun::sim
