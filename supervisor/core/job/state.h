#pragma once
// The whole memory of a Job, as plain data: what a replay of the journal must restore, and what
// digest() hashes. Internal to core/.

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "supervisor/core/fault/backoff.h"
#include "supervisor/core/fault/budget.h"
#include "supervisor/core/fault/early_end.h"
#include "supervisor/core/fault/escalation.h"
#include "supervisor/core/fault/fault.h"
#include "supervisor/core/fault/hang_places.h"
#include "supervisor/core/fault/step_trail.h"
#include "supervisor/core/job/assign.h"
#include "supervisor/core/job/attempt_orders.h"
#include "supervisor/core/job/copy_map.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/job/node_state.h"
#include "supervisor/core/job/resume_point.h"
#include "supervisor/core/preflight/replay.h"
#include "supervisor/core/types/slow_vote.h"

namespace robustrun::supervisor {

enum class WorkerState : std::uint8_t { kAbsent, kAlive, kEnded };

// Why the run ends, once that is decided.
struct Ending {
  Rule rule = Rule::kStart;
  std::int32_t exit_code = 0;
  template <class V>
  void fields(V& v) {
    v(1, "rule", rule);
    v(2, "exit_code", exit_code);
  }
};

// The body of an event; the table guarantees that it has this type.
template <class Body>
const Body& body(const Event& event) {
  return std::get<Body>(event.body);
}

struct JobMemory {
  JobState state = JobState::kIdle;
  JobSpec spec;
  std::uint64_t seed = 0;
  base::Nanos started_at{};             // supervisor's clock
  base::Nanos wall_time{};              // Unix time then
  Budget budget;
  Backoff backoff;
  Escalation escalation;
  bool check_due = false;  // of all nodes, before the next attempt
  bool replay_due = false;  // of the group's nodes, before the next attempt
  std::uint64_t replay = 0;  // number of the newest ReplayNodes; 0: none
  ReplayCourse replay_course;  // of kReplaying
  std::uint32_t alarms_acted_on = 0;  // in this run

  // agent, unfit and leaving are changed only by set_presence() and set_leaving().
  std::vector<NodeState> nodes;
  // These three follow from `nodes`:
  std::uint32_t nodes_there = 0;  // nodes with an agent that may work
  std::uint32_t nodes_coming = 0;  // nodes that may work and whose agents are on the way
  std::set<base::NodeId> not_there;  // all nodes but the nodes_there
  std::vector<base::NodeId> group;  // by group rank; before the first attempt: as wanted
  bool group_formed = false;  // an attempt has begun with it
  RankPlan plan;  // follows from group and nodes; not hashed
  // kJoining: begin of the wait; since when max_nodes() are there; since when min_nodes() are.
  base::Nanos waiting_since{};
  std::optional<base::Nanos> complete_since, enough_since;
  bool wait_announced = false;
  base::Nanos backoff_until{};
  base::Nanos answers_until{};  // of kBackoff: deadline for the answers it waits for
  std::uint64_t check = 0;  // number of the newest check of nodes; 0: none
  std::uint64_t placement_asked = 0;  // digest of the newest SolvePlacement; 0: none

  base::Attempt attempt;
  AttemptOrders attempt_orders;  // of attempts up to `attempt`, once that is started
  std::uint32_t port = 0;
  base::Nanos attempt_started{};
  std::vector<WorkerState> workers;  // by rank
  std::uint32_t seen_workers = 0;  // started or ended
  std::uint32_t succeeded_workers = 0;
  std::vector<EarlyEnd> ended_well;  // the first kEndedWellKept of them
  std::optional<std::int32_t> lost_at_end;  // code of the first is_lost_at_end() of this attempt
  std::uint32_t running_nodes = 0;  // nodes of the group that still have processes of the attempt

  bool has_progress_source = false;  // the workers of this run report steps
  bool made_progress = false;  // in this attempt
  bool script_runs = false;  // in this attempt the script was seen to run on every rank
  std::uint64_t steps = 0;
  StepTrail trail;
  base::Nanos progress_at{};  // progress counts from here on
  std::optional<std::uint64_t> steps_done;  // of spec.stop_after_steps
  base::Nanos steps_done_at{};  // when that was reported
  base::Nanos uptime_due{};  // of kRunning: then uptime counts as progress
  std::uint32_t growths = 0;  // restarts for a larger group, in a row and without progress
  SlowVote vote;
  RestartPrices prices;
  ResumePoint resume;
  CopyMap copies;

  std::optional<Outage> outage;
  HangPlaces hang_places;
  std::vector<std::string> unkillable;
  std::vector<std::string> cold_reasons;  // reported reasons of starts without a standby worker
  base::Nanos kill_at{};  // end of the grace period of the stop under way
  bool save_first = false;  // of that stop: workers that save by themselves are not signalled
  std::uint32_t end_signals = 0;
  Ending ending;

  std::uint64_t timer_sequence = 0;
  std::array<std::uint64_t, kTimers> live_timers{};  // by TimerId; 0: none
  std::array<base::Nanos, kTimers> timers_at{};  // of the live ones
  std::uint32_t incarnation = 1;  // of the supervisor
  Versions versions;

  // Simple queries.
  NodeState& at(base::NodeId node) { return nodes[node.value]; }
  [[nodiscard]] const NodeState& at(base::NodeId node) const { return nodes[node.value]; }
  NodeState& add_node(const NodeSpec& of);
  void set_presence(NodeState& node, NodeState::Agent agent, bool unfit);
  void set_leaving(NodeState& node, bool leaving);
  void count_presence(const NodeState& node, bool is_new);  // for these two
  [[nodiscard]] const std::string& name(base::NodeId node) const;
  [[nodiscard]] bool in_group(base::NodeId node) const;
  // The same for all nodes, by NodeId.
  [[nodiscard]] std::vector<bool> group_membership() const;
  [[nodiscard]] std::uint32_t max_nodes() const;
  [[nodiscard]] std::uint32_t min_nodes() const;
  [[nodiscard]] bool workers_may_run() const;
  // Workers that have not ended, as far as is known.
  [[nodiscard]] std::uint32_t alive_workers() const;
  [[nodiscard]] bool all_gone() const { return running_nodes == 0; }
  [[nodiscard]] std::int64_t unix_seconds(base::Nanos moment) const;
  [[nodiscard]] std::string workers_in_words() const;  // "8 workers on 2 nodes"

  template <class V>
  void fields(V& v) {
    v(1, "state", state);
    v(2, "spec", spec);
    v(3, "seed", seed);
    v(4, "started_at", started_at);
    v(5, "wall_time", wall_time);
    v(6, "budget", budget);
    v(85, "backoff", backoff);
    v(38, "escalation", escalation);
    v(39, "check_due", check_due);
    v(7, "nodes", nodes);
    v(8, "group", group);
    v(27, "group_formed", group_formed);
    v(28, "waiting_since", waiting_since);
    v(29, "complete_since", complete_since);
    v(30, "enough_since", enough_since);
    v(31, "wait_announced", wait_announced);
    v(32, "backoff_until", backoff_until);
    v(35, "check", check);
    v(36, "placement_asked", placement_asked);
    v(9, "attempt", attempt);
    v(10, "port", port);
    v(11, "attempt_started", attempt_started);
    v(12, "workers", workers);
    v(13, "seen_workers", seen_workers);
    v(14, "succeeded_workers", succeeded_workers);
    v(15, "running_nodes", running_nodes);
    v(16, "has_progress_source", has_progress_source);
    v(17, "made_progress", made_progress);
    v(37, "script_runs", script_runs);
    v(18, "steps", steps);
    v(19, "progress_at", progress_at);
    v(20, "outage", outage);
    v(21, "unkillable", unkillable);
    v(22, "kill_at", kill_at);
    v(23, "end_signals", end_signals);
    v(24, "ending", ending);
    v(25, "timer_sequence", timer_sequence);
    v(26, "live_timers", live_timers);
    v(33, "timers_at", timers_at);
    v(34, "incarnation", incarnation);
    v(50, "versions", versions);
    v(51, "steps_done", steps_done);
    v(52, "steps_done_at", steps_done_at);
    v(53, "vote", vote);
    v(54, "prices", prices);
    v(60, "replay_due", replay_due);
    v(61, "replay", replay);
    v(62, "replay_course", replay_course);
    v(63, "alarms_acted_on", alarms_acted_on);
    v(70, "resume", resume);
    v(71, "save_first", save_first);
    v(72, "answers_until", answers_until);
    v(73, "copies", copies);
    v(74, "attempt_orders", attempt_orders);
    v(75, "ended_well", ended_well);
    v(76, "trail", trail);
    v(80, "hang_places", hang_places);
    v(81, "cold_reasons", cold_reasons);
    v(82, "lost_at_end", lost_at_end);
    v(83, "uptime_due", uptime_due);
    v(84, "growths", growths);
  }
};

}  // namespace robustrun::supervisor
