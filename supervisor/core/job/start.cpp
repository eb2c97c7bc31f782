// From RunStarted to running workers: agents join, a port is reserved, workers start.

#include <fmt/core.h>

#include <algorithm>

#include "base/core/words.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::uint32_t kPortLast = 65535;

RestartPolicy policy_of(const JobSpec& spec) {
  RestartPolicy policy = spec.restart;
  if (spec.compat) {  // torchrun restarts at once and as often as it is told
    policy.crash_loop_stop = false;
    policy.backoff_first = base::Nanos{};
  }
  return policy;
}

// Whether the group has at least one worker, as far as is known by now.
bool can_start(const JobSpec& spec) {
  if (spec.group.open && spec.group.max_nodes == 0) return false;
  std::vector<Place> places;
  bool any_open = spec.group.open;
  for (std::uint32_t i = 0; i < spec.nodes.size(); ++i) {
    places.push_back({base::NodeId{i}, spec.nodes[i].slots});
    any_open = any_open || spec.nodes[i].slots == 0;
  }
  return can_be_planned(places) || (any_open && places.size() <= kNodesMax);
}

}  // namespace

void Job::Impl::run_started(const Event& event) {
  const auto& started = body<RunStarted>(event);
  if (!can_start(started.spec)) return;
  spec = started.spec;
  seed = started.seed;
  wall_time = started.wall_time;
  started_at = now;
  budget = Budget(policy_of(spec));
  versions.all.emplace_back().asked_at = now;
  for (std::uint32_t i = 0; i < spec.nodes.size(); ++i) {
    add_node(spec.nodes[i]);
    if (group.size() < max_nodes()) group.push_back(base::NodeId{i});
  }
  if (spec.time_limit) set_timer(TimerId::kTimeLimit, now + *spec.time_limit);
  launch_due();
  join_agents();
}

void Job::Impl::begin_attempt() {
  if (copies.is_cut_off) {
    save_held_copies();
    if (copies.is_saving()) return wait_before_restart({});
  }
  ask_backup();
  if (spec.master_port != 0) {
    port = spec.master_port;
    return start_workers();
  }
  enter(JobState::kReserving);
  out.push_back(ReservePort{group.front(), attempt});
  set_timer(TimerId::kState, now + spec.deadlines.port);
}

void Job::Impl::port_reserved(const Event& event) {
  const auto& reserved = body<PortReserved>(event);
  if (event.node != group.front()) return;
  if (reserved.port == 0 || reserved.port > kPortLast) {
    return setback(Rule::kStartFailed,
                   fmt::format("no free port on {}: {}", name(event.node), reserved.error));
  }
  port = reserved.port;
  start_workers();
}

void Job::Impl::port_overdue(const Event&) {
  setback(Rule::kStartFailed,
          fmt::format("the agent of {} did not name a free port within {}", name(group.front()),
                      base::in_seconds(spec.deadlines.port)));
}

bool JobQuestions::is_failed_start(const Fault& fault) {
  return fault.rule == Rule::kStartFailed && fault.fault_class == FaultClass::kInfrastructure;
}

bool JobQuestions::may_start_again(base::Nanos at) const {
  const std::uint32_t times = budget.failed_starts() + 1;
  const base::Nanos lasted = times == 1 ? base::Nanos{} : at - budget.failing_since();
  const bool is_alone = spec.nodes.size() == 1 && !spec.group.open;
  if (times < kFailedStartsAloneMax) return true;
  if (is_alone || lasted >= spec.group.wait_for_nodes) return false;
  return times < kFailedStartsMax || lasted < kFailedStartsFor;
}

std::string JobQuestions::failed_starts_in_words(base::Nanos at, const std::string& last) const {
  const bool is_alone = spec.nodes.size() == 1 && !spec.group.open;
  return fmt::format("giving up: the workers could not be started {} times in a row {}: {}",
                     budget.failed_starts() + 1,
                     is_alone ? "and there is no other machine to try"
                              : "within " + base::duration_words(at - budget.failing_since()),
                     last);
}

void Job::Impl::setback(Rule rule, std::string text) {
  if (spec.compat && !budget.allows(FaultClass::kUser)) {
    return give_up(text + "; no restart is left (--max-restarts)");
  }
  const bool is_failed_start = rule == Rule::kStartFailed || rule == Rule::kAgentLost;
  if (is_failed_start && !may_start_again(now)) {
    return give_up(failed_starts_in_words(now, text));
  }
  if (!spec.compat && !budget.allows(FaultClass::kInfrastructure)) {
    return give_up(
        fmt::format("{}; giving up after {} infrastructure faults in a row without progress", text,
                    budget.used_uncounted() + 1));
  }
  const base::Nanos delay = restart_delay(rule);
  budget.spend(spec.compat ? FaultClass::kUser : FaultClass::kInfrastructure, {});
  backoff.note_restart();
  if (is_failed_start) budget.note_failed_start(now);
  decide(rule, text + "; trying to start again");
  note_answer(spec.compat ? Answer::kCountedRestart : Answer::kFreeRestart);
  launch_due();
  wait_before_restart(delay);
}

void Job::Impl::wait_before_restart(base::Nanos delay) {
  save_held_copies();
  if (delay == base::Nanos{} && !awaits_answers()) return join_agents();
  enter(JobState::kBackoff);
  backoff_until = now + delay;
  answers_until = now + std::max(kDemotionMax, kHeldSaveMax);
  arm_backoff();
}

void Job::Impl::arm_backoff() {
  set_timer(TimerId::kBackoff,
            awaits_answers() ? std::max(backoff_until, answers_until) : backoff_until);
}

// An answer that kBackoff waited for has come.
void Job::Impl::go_on_if_ready() {
  if (awaits_answers()) return;
  if (now < backoff_until) return set_timer(TimerId::kBackoff, backoff_until);
  launch_due();
  join_agents();
}

void Job::Impl::backoff_over(const Event&) {
  end_demotion();
  end_saving();
  launch_due();
  join_agents();
}

void Job::Impl::start_workers() {
  attempt_orders.ordered(attempt, incarnation);
  workers.assign(plan.world_size(), WorkerState::kAbsent);
  seen_workers = 0;
  succeeded_workers = 0;
  ended_well.clear();
  trail.begin_attempt();
  lost_at_end.reset();
  running_nodes = static_cast<std::uint32_t>(group.size());
  made_progress = script_runs = false;
  steps = 0;
  vote = {};
  resume.begin_attempt();
  attempt_started = now;
  progress_at = now;
  unkillable.clear();
  if (attempt == base::Attempt{}) {
    decide(Rule::kStart, "starting " + workers_in_words());
  }
  use_version();
  begin_copies();
  copies.is_awaited = !copies.going_on.empty();
  out.reserve(out.size() + group.size() + 1);
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    at(group[i]).gone = false;
    at(group[i]).ended = 0;
    out.emplace_back(start_order_of(i));
  }
  enter(JobState::kStarting);
  set_timer(TimerId::kState, now + spec.deadlines.workers_started);
}

StartWorkers JobQuestions::start_order_of(std::uint32_t group_rank) const {
  const std::string& master =
      spec.master_addr.empty() ? at(group.front()).address : spec.master_addr;
  StartWorkers order = start_order(plan, group_rank, attempt, master, port);
  order.version = versions.present;
  order.ordered_by = attempt_orders.by(attempt);
  order.saving = copies.is_awaited;
  order.restarts = budget.used();
  return order;
}

void Job::Impl::worker_started(const Event& event) {
  const auto& started = body<WorkerStarted>(event);
  if (!note_seen(started.rank)) return;
  note_cold(started);
  check_all_started();
}

// Each reason is reported once in a run: it mostly holds for all workers, and for later restarts.
void Job::Impl::note_cold(const WorkerStarted& started) {
  if (started.cold.empty() || cold_reasons.size() == kColdReasonsMax) return;
  if (std::ranges::find(cold_reasons, started.cold) != cold_reasons.end()) return;
  cold_reasons.push_back(started.cold);
  decide(Rule::kColdStart, fmt::format("rank {} starts without a standby worker: {}",
                                       started.rank.value, started.cold));
}

void Job::Impl::check_all_started() {
  if (state != JobState::kStarting || seen_workers < plan.world_size()) return;
  enter(JobState::kRunning);
  budget.note_started();
  uptime_due = now + budget.policy().uptime_is_progress;
  arm_uptime_timer();
  maybe_grow();
}

void Job::Impl::start_failed(const Event& event) {
  const auto& failed = body<WorkerStartFailed>(event);
  if (note_ended(failed.rank)) break_down(start_fault(failed, context(event.node)));
}

void Job::Impl::start_overdue(const Event&) {
  break_down(infrastructure_fault(
      Rule::kStartFailed,
      fmt::format("{} of {} workers did not start within {}", plan.world_size() - seen_workers,
                  plan.world_size(), base::in_seconds(spec.deadlines.workers_started)),
      context(group.front())));
}

}  // namespace robustrun::supervisor
