#pragma once
// Queries on the memory of a Job, for the machine behind it; none changes anything. Internal to
// core/; each is defined in the file of its phase.

#include "supervisor/core/job/group.h"
#include "supervisor/core/job/state.h"
#include "supervisor/core/types/actions.h"

namespace robustrun::supervisor {

struct JobQuestions : JobMemory {
  // job_group.cpp
  [[nodiscard]] GroupChoice choice_now() const;
  [[nodiscard]] std::vector<std::string> offers(const RankPlan& planned) const;
  void sort_volunteers(std::vector<base::NodeId>& members) const;
  [[nodiscard]] std::string missing_in_words(std::size_t there) const;
  [[nodiscard]] int exit_code_for_too_few(std::size_t there) const;
  [[nodiscard]] Evidence troubles() const;
  [[nodiscard]] base::Nanos wait_over(bool any_coming) const;
  [[nodiscard]] base::Nanos may_grow_at() const;
  // agents.cpp
  [[nodiscard]] base::Nanos retry_delay(std::uint32_t troubles) const;
  // readmit.cpp
  [[nodiscard]] bool may_return(base::NodeId node) const;
  [[nodiscard]] base::Nanos next_retest() const;  // kNever: none is planned
  [[nodiscard]] std::string retests_in_words() const;
  // placement.cpp
  [[nodiscard]] bool wants_placement(const GroupChoice& choice) const;
  [[nodiscard]] SolvePlacement placement_question(const GroupChoice& choice) const;
  [[nodiscard]] std::vector<base::NodeId> placement_candidates(const GroupChoice& choice) const;
  [[nodiscard]] std::string objection(const PlacementSolved& to, const GroupChoice& choice) const;
  // agents.cpp
  [[nodiscard]] bool may_be_awaited() const;
  // start.cpp
  [[nodiscard]] StartWorkers start_order_of(std::uint32_t group_rank) const;
  // Whether the workers could not be started, because of the infrastructure.
  [[nodiscard]] static bool is_failed_start(const Fault& fault);
  [[nodiscard]] bool may_start_again(base::Nanos at) const;
  [[nodiscard]] std::string failed_starts_in_words(base::Nanos at, const std::string& last) const;
  // update.cpp
  [[nodiscard]] bool version_is_to_blame() const;  // for the outage
  [[nodiscard]] bool can_roll_back() const;
  // outage.cpp
  // Whether the loss of this machine explains the failure that the outage began with. `last_word`:
  // when the machine was last heard of.
  [[nodiscard]] bool explains_root(base::NodeId lost, std::optional<base::Nanos> last_word) const;
  [[nodiscard]] base::Nanos restart_delay(Rule rule) const;
  // escalation.cpp
  [[nodiscard]] Obstacles obstacles() const;
  // Why the run cannot do without these machines. `may_shrink`: min_nodes() are enough.
  [[nodiscard]] Obstacle eviction_obstacle(const std::vector<base::NodeId>& suspects,
                                           bool may_shrink) const;
  // slow.cpp
  [[nodiscard]] Obstacle replacement_obstacle() const;
  // drain.cpp
  // Whether a spare that the scheduler leaves alone is to take its place.
  [[nodiscard]] bool must_leave(const NodeState& node) const;
  [[nodiscard]] std::size_t replacements() const;  // such spares, beyond those needed already
  // broken.cpp: for the outage
  [[nodiscard]] bool is_surely_broken() const;
  [[nodiscard]] bool rather_waits() const;
  [[nodiscard]] std::string broken_in_words(bool is_over) const;
  // preflight.cpp
  [[nodiscard]] PreflightDepth check_depth() const;
  [[nodiscard]] bool is_of_present_agent(const NodeCheck& answer) const;
  // checkpoint.cpp
  [[nodiscard]] DemoteCheckpoint demotion_order() const;
  // copies.cpp
  [[nodiscard]] bool awaits_answers() const;  // in kBackoff
  // end.cpp
  [[nodiscard]] StopReason end_reason() const;
};

}  // namespace robustrun::supervisor
