#include "supervisor/core/job/job.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
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

// A set of states.
class States {
 public:
  constexpr States(std::initializer_list<JobState> states) {
    for (const JobState state : states) bits_ |= bit(state);
  }
  constexpr States operator+(States other) const { return States(bits_ | other.bits_); }
  constexpr States operator+(JobState state) const { return States(bits_ | bit(state)); }
  constexpr States operator-(States other) const { return States(bits_ & ~other.bits_); }
  constexpr States operator-(JobState state) const { return States(bits_ & ~bit(state)); }
  [[nodiscard]] constexpr bool has(JobState state) const { return (bits_ & bit(state)) != 0; }

 private:
  explicit constexpr States(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(JobState state) {
    return 1U << static_cast<std::uint32_t>(state);
  }
  std::uint32_t bits_ = 0;
};

// No worker has been started yet.
constexpr States kForming = {JobState::kJoining, JobState::kChecking, JobState::kReplaying,
                             JobState::kPlacing, JobState::kReserving};
constexpr States kWorking = {JobState::kStarting, JobState::kRunning};
constexpr States kWithWorkers = kWorking + JobState::kStopping;
constexpr States kUnderWay = kForming + kWithWorkers + JobState::kBackoff;

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

// The machine at a glance: in which states a stimulus is handled, and by what. What is not listed
// is ignored on purpose: it comes too late, comes twice, cannot come, or is for the report alone
// (FaultInjected, StartStages, CheckpointMoved).
Job::Impl::Handler Job::Impl::handler(JobState state, Stimulus stimulus) {
  using I = Impl;
  struct Row {
    Stimulus stimulus;
    States states;
    Handler handler;
  };
  static constexpr Row kRows[] = {
      {Stimulus::kRunStarted, {JobState::kIdle}, &I::run_started},

      {Stimulus::kAgentJoined, kUnderWay + JobState::kFinishing, &I::agent_joined},
      {Stimulus::kAgentLost, kForming, &I::agent_lost_idle},
      {Stimulus::kAgentLost, kWorking, &I::agent_lost_working},
      {Stimulus::kAgentLost, {JobState::kStopping}, &I::agent_lost_stopping},
      {Stimulus::kAgentLost, {JobState::kBackoff}, &I::agent_lost_waiting},
      {Stimulus::kAgentLost, {JobState::kFinishing}, &I::agent_lost_finishing},
      {Stimulus::kNodesTimer, kUnderWay, &I::nodes_timer},
      {Stimulus::kNodeOffered, kUnderWay, &I::node_offered},
      {Stimulus::kNodeEnding, kForming + JobState::kBackoff, &I::node_ending},
      {Stimulus::kNodeEnding, kWorking, &I::node_ending_working},
      {Stimulus::kNodeEnding, {JobState::kStopping}, &I::node_ending_stopping},
      {Stimulus::kNodeHealth, kUnderWay - kWorking, &I::node_health},
      {Stimulus::kNodeHealth, kWorking, &I::node_health_working},

      {Stimulus::kStateTimer, {JobState::kJoining}, &I::join_overdue},
      {Stimulus::kStateTimer, {JobState::kChecking}, &I::check_overdue},
      {Stimulus::kStateTimer, {JobState::kReplaying}, &I::replay_overdue},
      {Stimulus::kStateTimer, {JobState::kPlacing}, &I::placement_overdue},
      {Stimulus::kStateTimer, {JobState::kReserving}, &I::port_overdue},
      {Stimulus::kStateTimer, {JobState::kStarting}, &I::start_overdue},
      {Stimulus::kStateTimer, {JobState::kStopping}, &I::stop_overdue},
      {Stimulus::kStateTimer, {JobState::kFinishing}, &I::finish_overdue},

      {Stimulus::kNodesChecked, {JobState::kChecking}, &I::nodes_checked},
      {Stimulus::kNodesChecked, kUnderWay - JobState::kChecking, &I::spare_checked},
      {Stimulus::kNodesReplayed, {JobState::kReplaying}, &I::nodes_replayed},
      {Stimulus::kPlacementSolved, {JobState::kPlacing}, &I::placement_solved},

      {Stimulus::kPortReserved, {JobState::kReserving}, &I::port_reserved},
      {Stimulus::kWorkerStarted, {JobState::kStarting}, &I::worker_started},
      {Stimulus::kWorkerStartFailed, {JobState::kStarting}, &I::start_failed},
      {Stimulus::kWorkerStartFailed, {JobState::kStopping}, &I::start_failed_stopping},
      {Stimulus::kWorkerExited, kWorking, &I::worker_exited},
      {Stimulus::kWorkerExited, {JobState::kStopping}, &I::worker_exited_stopping},
      {Stimulus::kWorkerExited, {JobState::kFinishing}, &I::worker_exited_finishing},
      {Stimulus::kWorkersGone, kWorking, &I::workers_gone},
      {Stimulus::kWorkersGone, {JobState::kStopping}, &I::workers_gone_stopping},
      {Stimulus::kWorkersGone, {JobState::kFinishing}, &I::workers_gone_finishing},

      {Stimulus::kProgress, kWorking + JobState::kStopping, &I::progress},
      {Stimulus::kUptimeTimer, {JobState::kRunning}, &I::uptime},
      {Stimulus::kMetricAlarm, {JobState::kRunning}, &I::metric_alarm},
      {Stimulus::kDiagnosed, {JobState::kRunning}, &I::diagnosed},
      {Stimulus::kDiagnosed, {JobState::kStopping}, &I::looked_back},
      {Stimulus::kSlowTimer, {JobState::kRunning}, &I::slow_timer},
      {Stimulus::kUpdateRequested, kUnderWay, &I::update_requested},

      {Stimulus::kCheckpointNoted, kWithWorkers + JobState::kFinishing, &I::checkpoint_noted},
      {Stimulus::kCheckpointDemoted, {JobState::kBackoff}, &I::checkpoint_demoted},
      {Stimulus::kBackupSolved, kWorking + JobState::kReserving, &I::backup_solved},
      {Stimulus::kCopiesKept, kWithWorkers, &I::copies_kept},
      {Stimulus::kHeldCopiesSaved, {JobState::kBackoff}, &I::held_copies_saved},
      {Stimulus::kSavingOver, kUnderWay, &I::saving_over},
      {Stimulus::kBackoffTimer, {JobState::kBackoff}, &I::backoff_over},

      {Stimulus::kEndSignal, kUnderWay, &I::end_signal},
      {Stimulus::kEndSignal, {JobState::kFinishing}, &I::end_signal_again},
      {Stimulus::kUserSignal, kWorking, &I::user_signal},
      {Stimulus::kTimeLimit, kUnderWay, &I::time_limit},
      {Stimulus::kStepGoal, kWorking, &I::step_goal},

      {Stimulus::kSupervisorResumed, kUnderWay + JobState::kFinishing, &I::resumed},
      {Stimulus::kSupervisorResumed, {JobState::kFinished}, &I::resumed_finished},
  };
  using Table = std::array<std::array<Handler, kJobStates>, kStimuli>;
  static constexpr Table kTable = [] {
    Table table{};
    for (auto& states : table) states.fill(&I::ignore);
    for (const Row& row : kRows) {
      for (std::size_t i = 0; i < kJobStates; ++i) {
        if (!row.states.has(static_cast<JobState>(i))) continue;
        Handler& cell = table[static_cast<std::size_t>(row.stimulus)][i];
        RR_ASSERT(cell == &I::ignore);  // one handler for each stimulus and state
        cell = row.handler;
      }
    }
    return table;
  }();
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
