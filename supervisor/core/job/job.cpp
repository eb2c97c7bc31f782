#include "supervisor/core/job/job.h"

#include <fmt/core.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/core/result.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/state_hash.h"

namespace robustrun::supervisor {
namespace {

static_assert(static_cast<std::size_t>(Stimulus::kCheckpointMoved) + 1 == kStimuli);
static_assert(static_cast<std::size_t>(JobState::kReplaying) + 1 == kJobStates);
// The first stimuli are the first types of an event, in the same order.
constexpr auto kLikeTheirTypes = static_cast<std::size_t>(Stimulus::kEndSignal);
static_assert(
    std::is_same_v<std::variant_alternative_t<kLikeTheirTypes, EventBody>, SignalReceived>);

template <class Body>
constexpr bool kFromNode =
    std::is_same_v<Body, AgentJoined> || std::is_same_v<Body, AgentLost> ||
    std::is_same_v<Body, PortReserved> || std::is_same_v<Body, WorkerStarted> ||
    std::is_same_v<Body, WorkerStartFailed> || std::is_same_v<Body, WorkerExited> ||
    std::is_same_v<Body, WorkersGone> || std::is_same_v<Body, NodeEnding> ||
    std::is_same_v<Body, NodeHealth> || std::is_same_v<Body, CheckpointNoted> ||
    std::is_same_v<Body, CheckpointDemoted> || std::is_same_v<Body, CopiesKept> ||
    std::is_same_v<Body, HeldCopiesSaved> || std::is_same_v<Body, StartStages> ||
    std::is_same_v<Body, SavingOver> || std::is_same_v<Body, CheckpointMoved>;

}  // namespace

const char* to_string(JobState state) {
  switch (state) {
    case JobState::kIdle: return "idle";
    case JobState::kJoining: return "joining";
    case JobState::kReserving: return "reserving";
    case JobState::kStarting: return "starting";
    case JobState::kRunning: return "running";
    case JobState::kStopping: return "stopping";
    case JobState::kBackoff: return "backoff";
    case JobState::kFinishing: return "finishing";
    case JobState::kFinished: return "finished";
    case JobState::kChecking: return "checking";
    case JobState::kPlacing: return "placing";
    case JobState::kReplaying: return "replaying";
  }
  return "unknown";
}

// The machine at a glance: what happens (rows) in which state (columns). `no`: ignored on purpose,
// as it comes too late, comes twice, or cannot come.
Job::Impl::Handler Job::Impl::handler(JobState state, Stimulus stimulus) {
  using I = Impl;
  constexpr Handler no = &I::ignore, run = &I::run_started;
  constexpr Handler join = &I::agent_joined, la = &I::agent_lost_idle;
  constexpr Handler lw = &I::agent_lost_working, ls = &I::agent_lost_stopping;
  constexpr Handler lf = &I::agent_lost_finishing, lb = &I::agent_lost_waiting;
  constexpr Handler port = &I::port_reserved, up = &I::worker_started, bad = &I::start_failed;
  constexpr Handler bads = &I::start_failed_stopping, exit = &I::worker_exited;
  constexpr Handler exs = &I::worker_exited_stopping, exf = &I::worker_exited_finishing;
  constexpr Handler gone = &I::workers_gone, gos = &I::workers_gone_stopping;
  constexpr Handler gof = &I::workers_gone_finishing;
  constexpr Handler prog = &I::progress, goal = &I::step_goal;
  constexpr Handler end = &I::end_signal, end2 = &I::end_signal_again, usr = &I::user_signal;
  constexpr Handler th = &I::join_overdue, tp = &I::port_overdue, ts = &I::start_overdue;
  constexpr Handler to = &I::stop_overdue, tf = &I::finish_overdue;
  constexpr Handler back = &I::backoff_over, lim = &I::time_limit, tick = &I::uptime;
  constexpr Handler tn = &I::nodes_timer, offer = &I::node_offered;
  constexpr Handler res = &I::resumed, resf = &I::resumed_finished;
  constexpr Handler ok = &I::nodes_checked, okl = &I::spare_checked, tc = &I::check_overdue;
  constexpr Handler ne = &I::node_ending, nw = &I::node_ending_working;
  constexpr Handler nes = &I::node_ending_stopping;
  constexpr Handler dia = &I::diagnosed, dead = &I::looked_back, odd = &I::metric_alarm;
  constexpr Handler set = &I::placement_solved, tpl = &I::placement_overdue;
  constexpr Handler hea = &I::node_health, hew = &I::node_health_working;
  constexpr Handler upd = &I::update_requested, slo = &I::slow_timer;
  constexpr Handler rep = &I::nodes_replayed, tr = &I::replay_overdue;
  constexpr Handler ckp = &I::checkpoint_noted, dem = &I::checkpoint_demoted;
  constexpr Handler bak = &I::backup_solved, kep = &I::copies_kept;
  constexpr Handler hel = &I::held_copies_saved, sav = &I::saving_over;
  static constexpr Handler kTable[kStimuli][kJobStates] = {
      // idle joining reserving starting running stopping backoff finishing finished checking
      // placing replaying
      {run, no, no, no, no, no, no, no, no, no, no, no},  // RunStarted
      {no, join, join, join, join, join, join, join, no, join, join, join},  // AgentJoined
      {no, la, la, lw, lw, ls, lb, lf, no, la, la, la},  // AgentLost
      {no, no, port, no, no, no, no, no, no, no, no, no},  // PortReserved
      {no, no, no, up, no, no, no, no, no, no, no, no},  // WorkerStarted
      {no, no, no, bad, no, bads, no, no, no, no, no, no},  // WorkerStartFailed
      {no, no, no, exit, exit, exs, no, exf, no, no, no, no},  // WorkerExited
      {no, no, no, gone, gone, gos, no, gof, no, no, no, no},  // WorkersGone
      {no, no, no, prog, prog, prog, no, no, no, no, no, no},  // Progress
      {no, no, no, goal, goal, no, no, no, no, no, no, no},  // StepGoalReached
      {no, end, end, end, end, end, end, end2, no, end, end, end},  // SignalReceived: ends the run
      {no, no, no, usr, usr, no, no, no, no, no, no, no},  // SignalReceived: the user's own
      {no, th, tp, ts, no, to, no, tf, no, tc, tpl, tr},  // TimerFired: the state's deadline
      {no, no, no, no, no, no, back, no, no, no, no, no},  // TimerFired: back-off
      {no, lim, lim, lim, lim, lim, lim, no, no, lim, lim, lim},  // TimerFired: time limit
      {no, no, no, no, tick, no, no, no, no, no, no, no},  // TimerFired: uptime
      {no, tn, tn, tn, tn, tn, tn, no, no, tn, tn, tn},  // TimerFired: nodes
      {no, offer, offer, offer, offer, offer, offer, no, no, offer, offer, offer},  // NodeOffered
      {no, no, no, no, no, no, no, no, no, no, no, no},  // FaultInjected: for the report alone
      {no, res, res, res, res, res, res, res, resf, res, res, res},  // SupervisorResumed
      {no, ne, ne, nw, nw, nes, ne, no, no, ne, ne, ne},  // NodeEnding
      {no, okl, okl, okl, okl, okl, okl, no, no, ok, okl, okl},  // NodesChecked
      {no, no, no, no, no, no, no, no, no, no, set, no},  // PlacementSolved
      {no, no, no, no, dia, dead, no, no, no, no, no, no},  // Diagnosed
      {no, hea, hea, hew, hew, hea, hea, no, no, hea, hea, hea},  // NodeHealth
      {no, upd, upd, upd, upd, upd, upd, no, no, upd, upd, upd},  // UpdateRequested
      {no, no, no, no, odd, no, no, no, no, no, no, no},  // MetricAlarm
      {no, no, no, no, slo, no, no, no, no, no, no, no},  // TimerFired: slow
      {no, no, no, no, no, no, no, no, no, no, no, rep},  // NodesReplayed
      {no, no, no, ckp, ckp, ckp, no, ckp, no, no, no, no},  // CheckpointNoted
      {no, no, no, no, no, no, dem, no, no, no, no, no},  // CheckpointDemoted
      {no, no, bak, bak, bak, no, no, no, no, no, no, no},  // BackupSolved
      {no, no, no, kep, kep, kep, no, no, no, no, no, no},  // CopiesKept
      {no, no, no, no, no, no, hel, no, no, no, no, no},  // HeldCopiesSaved
      {no, no, no, no, no, no, no, no, no, no, no, no},  // StartStages: for the report alone
      {no, sav, sav, sav, sav, sav, sav, no, no, sav, sav, sav},  // SavingOver
      {no, no, no, no, no, no, no, no, no, no, no, no},  // CheckpointMoved: for the report alone
  };
  return kTable[static_cast<std::size_t>(stimulus)][static_cast<std::size_t>(state)];
}

Stimulus Job::Impl::stimulus_of(const EventBody& body) {
  if (body.index() < kLikeTheirTypes) return static_cast<Stimulus>(body.index());
  if (const auto* signal = std::get_if<SignalReceived>(&body)) {
    return signal->forward_only ? Stimulus::kUserSignal : Stimulus::kEndSignal;
  }
  if (const auto* timer = std::get_if<TimerFired>(&body)) {
    if (timer->id == TimerId::kSlow) return Stimulus::kSlowTimer;
    return static_cast<Stimulus>(static_cast<std::size_t>(Stimulus::kStateTimer) +
                                 static_cast<std::size_t>(timer->id));
  }
  if (std::holds_alternative<NodeOffered>(body)) return Stimulus::kNodeOffered;
  if (std::holds_alternative<FaultInjected>(body)) return Stimulus::kFaultInjected;
  if (std::holds_alternative<SupervisorResumed>(body)) return Stimulus::kSupervisorResumed;
  if (std::holds_alternative<NodeEnding>(body)) return Stimulus::kNodeEnding;
  if (std::holds_alternative<NodesChecked>(body)) return Stimulus::kNodesChecked;
  if (std::holds_alternative<PlacementSolved>(body)) return Stimulus::kPlacementSolved;
  if (std::holds_alternative<Diagnosed>(body)) return Stimulus::kDiagnosed;
  if (std::holds_alternative<NodeHealth>(body)) return Stimulus::kNodeHealth;
  if (std::holds_alternative<UpdateRequested>(body)) return Stimulus::kUpdateRequested;
  if (std::holds_alternative<MetricAlarm>(body)) return Stimulus::kMetricAlarm;
  if (std::holds_alternative<NodesReplayed>(body)) return Stimulus::kNodesReplayed;
  if (std::holds_alternative<CheckpointNoted>(body)) return Stimulus::kCheckpointNoted;
  if (std::holds_alternative<CheckpointDemoted>(body)) return Stimulus::kCheckpointDemoted;
  if (std::holds_alternative<BackupSolved>(body)) return Stimulus::kBackupSolved;
  if (std::holds_alternative<CopiesKept>(body)) return Stimulus::kCopiesKept;
  if (std::holds_alternative<HeldCopiesSaved>(body)) return Stimulus::kHeldCopiesSaved;
  if (std::holds_alternative<StartStages>(body)) return Stimulus::kStartStages;
  if (std::holds_alternative<SavingOver>(body)) return Stimulus::kSavingOver;
  RR_ASSERT(std::holds_alternative<CheckpointMoved>(body));
  return Stimulus::kCheckpointMoved;
}

bool Job::Impl::is_current(const Event& event) const {
  return std::visit(
      [&](const auto& what) {
        using Body = std::decay_t<decltype(what)>;
        if constexpr (kFromNode<Body>) {
          if (event.node.value >= nodes.size()) return false;
          const NodeState& node = nodes[event.node.value];
          if (event.generation != node.generation) return false;
          if (node.agent == NodeState::Agent::kLost) return false;
        }
        if constexpr (requires { what.attempt; }) {
          if (what.attempt != attempt) return false;
        }
        if constexpr (requires { what.rank; }) {
          if (what.rank.value >= plan.world_size()) return false;
          if (plan.node_of[what.rank.value] != event.node) return false;
        }
        if constexpr (std::is_same_v<Body, TimerFired>) {
          const auto id = static_cast<std::size_t>(what.id);
          return id < live_timers.size() && what.sequence != 0 && live_timers[id] == what.sequence;
        }
        return true;
      },
      event.body);
}

void Job::Impl::handle(const Event& event) {
  if (!is_current(event)) return;
  now = event.at;
  const Handler chosen = handler(state, stimulus_of(event.body));
  if (const auto* timer = std::get_if<TimerFired>(&event.body)) {
    live_timers[static_cast<std::size_t>(timer->id)] = 0;  // fires once
  }
  (this->*chosen)(event);
}

void Job::Impl::enter(JobState next) {
  state = next;
  for (const TimerId id : {TimerId::kState, TimerId::kBackoff, TimerId::kUptime, TimerId::kSlow}) {
    live_timers[static_cast<std::size_t>(id)] = 0;
  }
}

void Job::Impl::set_timer(TimerId id, base::Nanos at) {
  live_timers[static_cast<std::size_t>(id)] = ++timer_sequence;
  timers_at[static_cast<std::size_t>(id)] = at;
  out.push_back(SetTimer{id, timer_sequence, at});
}

void Job::Impl::decide(Rule rule, std::string text, std::vector<std::string> evidence,
                       std::vector<std::string> alternatives, std::optional<Classification> looks) {
  out.push_back(Decision{rule,
                         attempt,
                         std::move(text),
                         std::move(evidence),
                         std::move(alternatives),
                         std::move(looks),
                         {}});
}

void Job::Impl::note_answer(Answer answer, std::vector<PassedStep> passed) {
  auto& decision = std::get<Decision>(out.back());
  decision.answer = answer;
  decision.passed = std::move(passed);
}

FaultContext Job::Impl::context(base::NodeId node) const {
  return {node,
          name(node),
          spec.compat,
          !spec.compat && spec.master_port == 0 && !made_progress && budget.port_may_conflict(),
          unix_seconds(attempt_started),
          unix_seconds(now),
          made_progress ? FaultPhase::kProgressing
          : script_runs ? FaultPhase::kBeforeFirstStep
                        : FaultPhase::kStarting,
          !outage || outage->may_classify() ? &spec.faults : nullptr,
          spec.policy.is_on()};
}

Job::Job() : impl_(std::make_unique<Impl>()) {}
Job::~Job() = default;
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;

std::vector<Action> Job::handle(const Event& event) {
  std::vector<Action> actions;
  handle(event, actions);
  return actions;
}

void Job::handle(const Event& event, std::vector<Action>& actions) {
  actions.clear();
  impl_->out.swap(actions);
  impl_->handle(event);
  impl_->out.swap(actions);
}

JobState Job::state() const { return impl_->state; }

base::Attempt Job::attempt() const { return impl_->attempt; }

const std::string& Job::drained(base::NodeId node) const { return impl_->at(node).drained; }

bool Job::works(base::NodeId node) const {
  if (node.value >= impl_->nodes.size()) return false;
  const NodeState& known = impl_->at(node);
  return known.agent == NodeState::Agent::kJoined && known.may_work();
}

std::string Job::why_not_evict(base::NodeId node) const {
  if (!acts_on(state(), Stimulus::kNodeHealth)) return "the run is ending";
  if (impl_->at(node).unfit) return "it has been evicted already";
  if (impl_->at(node).agent == NodeState::Agent::kLost) return "its agent is lost";
  if (!impl_->spec.policy.is_on()) return "the run does not evict nodes (--compat=torchrun)";
  return in_words(impl_->eviction_obstacle({node}, true));
}

std::uint32_t Job::restarts_used() const { return impl_->budget.used(); }

std::uint32_t Job::incarnation() const { return impl_->incarnation; }

const Versions& Job::versions() const { return impl_->versions; }

const Assignment* Job::assignment(base::Rank rank) const {
  const auto& workers = impl_->plan.workers;
  return rank.value < workers.size() ? &workers[rank.value] : nullptr;
}

bool Job::is_foreign(base::NodeId node, base::Attempt attempt, std::uint32_t ordered_by) const {
  const Impl& it = *impl_;
  const bool is_over = it.state == JobState::kIdle || it.state == JobState::kFinishing ||
                       it.state == JobState::kFinished;
  if (is_over) return false;
  const std::uint32_t ours = it.attempt_orders.by(attempt);
  const bool is_anothers = ordered_by != 0 && ours != 0 && ordered_by != ours;
  if (attempt.value < it.attempt.value || is_anothers) return is_anothers;
  const bool is_ordered = it.state == JobState::kStarting || it.state == JobState::kRunning ||
                          it.state == JobState::kStopping;
  return attempt != it.attempt || !is_ordered || it.plan.slots(node) == 0;
}

std::optional<Stimulus> Job::acts_on(const Event& event) const {
  const Stimulus stimulus = Impl::stimulus_of(event.body);
  if (!impl_->is_current(event) || !acts_on(impl_->state, stimulus)) return std::nullopt;
  return stimulus;
}

bool Job::acts_on(JobState state, Stimulus stimulus) {
  return Impl::handler(state, stimulus) != &Impl::ignore;
}

std::uint64_t Job::digest() const {
  StateHash hash;
  JobMemory& memory = *impl_;  // fields() serves readers and writers alike, so it is not const
  hash.add(memory);
  return hash.value();
}

}  // namespace robustrun::supervisor
