// The machine behind Job: its parts, the table of its states, and the transitions between them.

#include "supervisor/core/job/job.h"

#include <fmt/core.h>

#include <array>
#include <csignal>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/core/result.h"
#include "base/core/words.h"
#include "supervisor/core/job/blame/metric_alarms.h"
#include "supervisor/core/job/digest.h"
#include "supervisor/core/job/nodes/health.h"
#include "supervisor/core/job/phases/agent_news.h"
#include "supervisor/core/job/phases/worker_exits.h"
#include "supervisor/core/job/states.h"
#include "supervisor/core/types/limits.h"

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

// Each part owns its memory, and names the parts that it uses. Facts first, then what follows from
// them; Transitions, which this implements, leads back.
struct Job::Impl final : Transitions {
  using Handler = void (*)(Impl&, const Event&);

  Run run;
  Orders orders;
  Nodes nodes{run.spec};
  Group group;
  Workers workers{nodes, group};
  AttemptProgress progress;

  Checkpoints checkpoints{orders, run.spec, nodes, group, progress};
  Copies copies{orders, run.spec, nodes, group, checkpoints.resume_point()};

  Agents agents{orders, run.spec, nodes, group, workers, copies};
  CheckOrders checks{nodes};
  Probation probation{orders, run.spec, nodes, agents, checks, *this};
  Evictions evictions{orders, run.spec, nodes, group, probation};
  Drains drains{orders, run.spec, nodes, group, workers, evictions, *this};
  Health health{orders, run.spec, nodes, group, workers, evictions, drains, *this};

  Restarts restarts{orders, run};
  EarlyEnds early_ends{orders, run.spec, group};
  SlowMachines slow{orders, run, nodes, group, workers, progress, copies, evictions, *this};
  Diagnoses diagnoses{orders, run.spec, group, workers, early_ends, slow, *this};
  MetricAlarms alarms{orders, run, restarts, *this};
  BrokenMachine broken{run.spec, nodes, restarts, evictions};
  Updates updates{orders, group, progress, *this};
  Remedies remedies{orders, run.spec, nodes, group, evictions, broken, updates};

  Formation formation{orders, run.spec, nodes, group, drains, *this};
  Growth growth{orders, nodes, group, workers, progress, restarts, formation, *this};
  Checking checking{orders, run.spec, nodes, group, checks, probation, *this};
  Replaying replaying{orders, run.spec, nodes, evictions, checking, *this};
  Placing placing{orders, run.spec, nodes, group, drains, formation, checking};
  Joining joining{orders,    run.spec, nodes,     group,   agents, probation,
                  formation, checking, replaying, placing, *this};
  StartOrders starts{orders, run.spec, nodes, group, updates, restarts, copies};
  BackoffWait wait{orders, run.spec, copies, checkpoints, agents, restarts, starts, *this};
  Running running{orders, run.spec,  nodes,    group,   progress, restarts,
                  slow,   diagnoses, remedies, updates, growth};
  Starting starting{orders,   run.spec,    nodes,      group, workers,   progress,
                    copies,   checkpoints, early_ends, slow,  diagnoses, updates,
                    restarts, starts,      running,    wait,  *this};
  StopOrders stops{orders, run.spec, nodes, workers};
  Finishing finishing{orders, run, nodes, workers, copies, agents, stops};
  Verdicts verdicts{run.spec, nodes,   workers, progress, checkpoints,
                    restarts, updates, broken,  joining};
  Conclusion conclusion{orders,    nodes,     group,     workers,  progress, checkpoints,
                        evictions, drains,    broken,    remedies, updates,  restarts,
                        checking,  replaying, finishing, verdicts};
  Stopping stopping{orders, run,    nodes,     group,    workers,   progress,
                    copies, agents, restarts,  slow,     diagnoses, growth,
                    stops,  wait,   finishing, verdicts, conclusion};
  WorkerExits exits{orders, run.spec,   nodes,    group,    workers,
                    copies, early_ends, starting, stopping, *this};
  AgentNews news{orders, run.spec, nodes,    group, workers,   agents, checking,
                 growth, starts,   stopping, wait,  finishing, *this};

  void join_agents() override { joining.begin(); }
  void resume_joining() override { joining.resume(); }
  void group_changed() override {
    if (orders.state() == JobState::kJoining) return joining.consider();
    if (orders.state() == JobState::kPlacing) joining.reconsider();
  }
  void begin_attempt() override { starting.begin(); }
  void break_down(Fault fault, FaultNotes notes) override {
    stopping.break_down(std::move(fault), std::move(notes));
  }
  [[nodiscard]] FaultContext context(base::NodeId node) const override {
    return stopping.context(node);
  }
  void setback(Rule rule, std::string text) override { wait.setback(rule, std::move(text)); }
  void end_backoff() override { wait.hurry(); }
  void succeed(const std::string& note, std::vector<std::string> evidence) override {
    exits.succeed(note, std::move(evidence));
  }
  void give_up(std::string text, std::vector<std::string> evidence,
               std::optional<int> exit_code) override {
    finishing.give_up(std::move(text), std::move(evidence), exit_code);
  }
  void end_run(Ending how, int signal, base::Nanos grace) override {
    finishing.end_run(how, signal, grace);
  }

  static Handler handler(JobState state, Stimulus stimulus);
  static Stimulus stimulus_of(const EventBody& body);
  [[nodiscard]] bool is_current(const Event& event) const;  // generation, attempt, timer, node
  void handle(const Event& event);
  [[nodiscard]] std::uint64_t digest();

  void begin_run(const Event& event);
  void take_over(const Event& event);
  void take_over_finished(const Event& event);
  void order_again();

  static void ignore(Impl&, const Event&) {}
  template <auto kHandle>
  static void on(Impl& job, const Event& event) {
    (job.*kHandle)(event);
  }
  template <auto kPart, auto kHandle>
  static void on(Impl& job, const Event& event) {
    ((job.*kPart).*kHandle)(event);
  }
};

// The machine at a glance: in which states a stimulus is handled, and by what. What is not listed
// is ignored on purpose: it comes too late, comes twice, cannot come, or is for the report alone
// (FaultInjected, StartStages, CheckpointMoved).
Job::Impl::Handler Job::Impl::handler(JobState state, Stimulus stimulus) {
  using I = Impl;
  using enum Stimulus;
  using enum JobState;
  struct Row {
    Stimulus stimulus;
    States states;
    Handler handler;
  };
  static constexpr Row kRows[] = {
      {kRunStarted, {kIdle}, &on<&I::begin_run>},

      {kAgentJoined, kUnderWay + kFinishing, &on<&I::news, &AgentNews::joined>},
      {kAgentLost, kForming, &on<&I::news, &AgentNews::lost_idle>},
      {kAgentLost, kWorking, &on<&I::news, &AgentNews::lost_working>},
      {kAgentLost, {kStopping}, &on<&I::news, &AgentNews::lost_stopping>},
      {kAgentLost, {kBackoff}, &on<&I::news, &AgentNews::lost_waiting>},
      {kAgentLost, {kFinishing}, &on<&I::news, &AgentNews::lost_finishing>},
      {kNodesTimer, kUnderWay, &on<&I::news, &AgentNews::timer>},
      {kNodeOffered, kUnderWay, &on<&I::news, &AgentNews::offered>},
      {kNodeEnding, kForming + kBackoff, &on<&I::news, &AgentNews::ending>},
      {kNodeEnding, kWorking, &on<&I::news, &AgentNews::ending_working>},
      {kNodeEnding, {kStopping}, &on<&I::news, &AgentNews::ending_stopping>},
      {kNodeHealth, kUnderWay - kWorking, &on<&I::health, &Health::noted>},
      {kNodeHealth, kWorking, &on<&I::health, &Health::noted_working>},

      {kStateTimer, {kJoining}, &on<&I::joining, &Joining::overdue>},
      {kStateTimer, {kChecking}, &on<&I::checking, &Checking::overdue>},
      {kStateTimer, {kReplaying}, &on<&I::replaying, &Replaying::overdue>},
      {kStateTimer, {kPlacing}, &on<&I::placing, &Placing::overdue>},
      {kStateTimer, {kReserving}, &on<&I::starting, &Starting::port_overdue>},
      {kStateTimer, {kStarting}, &on<&I::starting, &Starting::overdue>},
      {kStateTimer, {kStopping}, &on<&I::stopping, &Stopping::overdue>},
      {kStateTimer, {kFinishing}, &on<&I::finishing, &Finishing::overdue>},

      {kNodesChecked, {kChecking}, &on<&I::checking, &Checking::checked>},
      {kNodesChecked, kUnderWay - kChecking, &on<&I::checking, &Checking::spare_checked>},
      {kNodesReplayed, {kReplaying}, &on<&I::replaying, &Replaying::replayed>},
      {kPlacementSolved, {kPlacing}, &on<&I::placing, &Placing::solved>},

      {kPortReserved, {kReserving}, &on<&I::starting, &Starting::port_reserved>},
      {kWorkerStarted, {kStarting}, &on<&I::starting, &Starting::worker_started>},
      {kWorkerStartFailed, {kStarting}, &on<&I::starting, &Starting::start_failed>},
      {kWorkerStartFailed, {kStopping}, &on<&I::stopping, &Stopping::start_failed>},
      {kWorkerExited, kWorking, &on<&I::exits, &WorkerExits::exited>},
      {kWorkerExited, {kStopping}, &on<&I::stopping, &Stopping::worker_exited>},
      {kWorkerExited, {kFinishing}, &on<&I::finishing, &Finishing::worker_exited>},
      {kWorkersGone, kWorking, &on<&I::exits, &WorkerExits::gone>},
      {kWorkersGone, {kStopping}, &on<&I::stopping, &Stopping::workers_gone>},
      {kWorkersGone, {kFinishing}, &on<&I::finishing, &Finishing::workers_gone>},

      {kProgress, kWorking + kStopping, &on<&I::running, &Running::progress>},
      {kUptimeTimer, {kRunning}, &on<&I::running, &Running::uptime>},
      {kMetricAlarm, {kRunning}, &on<&I::alarms, &MetricAlarms::heard>},
      {kDiagnosed, {kRunning}, &on<&I::diagnoses, &Diagnoses::diagnosed>},
      {kDiagnosed, {kStopping}, &on<&I::stopping, &Stopping::looked_back>},
      {kSlowTimer, {kRunning}, &on<&I::slow, &SlowMachines::timer>},
      {kUpdateRequested, {kRunning}, &on<&I::running, &Running::update_requested>},
      {kUpdateRequested, kUnderWay - kRunning, &on<&I::updates, &Updates::requested>},

      {kCheckpointNoted, kWithWorkers + kFinishing, &on<&I::checkpoints, &Checkpoints::noted>},
      {kCheckpointDemoted, {kBackoff}, &on<&I::wait, &BackoffWait::checkpoint_demoted>},
      {kBackupSolved, kWorking + kReserving, &on<&I::copies, &Copies::backup_solved>},
      {kCopiesKept, kWithWorkers, &on<&I::copies, &Copies::kept>},
      {kHeldCopiesSaved, {kBackoff}, &on<&I::wait, &BackoffWait::held_copies_saved>},
      {kSavingOver, kUnderWay, &on<&I::wait, &BackoffWait::saving_over>},
      {kBackoffTimer, {kBackoff}, &on<&I::wait, &BackoffWait::over>},

      {kEndSignal, kUnderWay, &on<&I::finishing, &Finishing::signal>},
      {kEndSignal, {kFinishing}, &on<&I::finishing, &Finishing::signal_again>},
      {kUserSignal, kWorking, &on<&I::finishing, &Finishing::user_signal>},
      {kTimeLimit, kUnderWay, &on<&I::finishing, &Finishing::time_limit>},
      {kStepGoal, kWorking, &on<&I::finishing, &Finishing::step_goal>},

      {kSupervisorResumed, kUnderWay + kFinishing, &on<&I::take_over>},
      {kSupervisorResumed, {kFinished}, &on<&I::take_over_finished>},
  };
  using Table = std::array<std::array<Handler, kJobStates>, kStimuli>;
  static constexpr Table kTable = [] {
    Table table{};
    for (auto& states : table) states.fill(&ignore);
    for (const Row& row : kRows) {
      for (std::size_t i = 0; i < kJobStates; ++i) {
        if (!row.states.has(static_cast<JobState>(i))) continue;
        Handler& cell = table[static_cast<std::size_t>(row.stimulus)][i];
        RR_ASSERT(cell == &ignore);  // one handler for each stimulus and state
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
          const NodeState& node = nodes.at(event.node);
          if (event.generation != node.generation) return false;
          if (node.agent == NodeState::Agent::kLost) return false;
        }
        if constexpr (requires { what.attempt; }) {
          if (what.attempt != orders.attempt()) return false;
        }
        if constexpr (requires { what.rank; }) {
          const RankPlan& plan = group.plan();
          if (what.rank.value >= plan.world_size()) return false;
          if (plan.node_of[what.rank.value] != event.node) return false;
        }
        if constexpr (std::is_same_v<Body, TimerFired>) return orders.awaits(what);
        return true;
      },
      event.body);
}

void Job::Impl::handle(const Event& event) {
  if (!is_current(event)) return;
  orders.set_now(event.at);
  const Handler chosen = handler(orders.state(), stimulus_of(event.body));
  if (const auto* timer = std::get_if<TimerFired>(&event.body)) {
    orders.cancel(timer->id);  // fires once
  }
  chosen(*this, event);
}

void Job::Impl::begin_run(const Event& event) {
  const auto& started = body<RunStarted>(event);
  if (!can_start(started.spec)) return;
  run = {started.spec, started.seed, orders.now(), started.wall_time};
  restarts.begin_run();
  updates.begin_run();
  for (std::uint32_t i = 0; i < run.spec.nodes.size(); ++i) {
    nodes.add(run.spec.nodes[i]);
    if (group.size() < nodes.max_wanted()) group.want({i});
  }
  if (run.spec.time_limit) {
    orders.set_timer(TimerId::kTimeLimit, orders.now() + *run.spec.time_limit);
  }
  agents.launch_due();
  joining.begin();
}

// Another supervisor takes the run over: everything that its predecessor may not have done, or not
// have heard of, is ordered again. Agents recognise orders that they have carried out, and repeat
// their reports of the attempt; repeated reports change nothing here.
void Job::Impl::take_over(const Event& event) {
  const auto& what = body<SupervisorResumed>(event);
  starts.take_over(what.incarnation);
  const bool has_started = group.plan().world_size() != 0;
  orders.decide(
      Rule::kResumed,
      fmt::format(
          "supervisor {} takes over, {} after its predecessor was last heard of (on {}, pid "
          "{}); {} {}",
          starts.incarnation(), base::duration_words(what.away), what.host, what.pid,
          has_started ? group.workers_in_words() + " should still run, in state"
                      : "no worker was started yet",
          has_started ? to_string(orders.state()) : ""));
  const bool ends = orders.state() == JobState::kFinishing ||
                    (orders.state() == JobState::kStopping && !stopping.will_restart());
  agents.adopt(!ends);
  order_again();
  // Deadlines for answers count from when the agents can be heard again.
  orders.repeat_timers(orders.now() + kReunionMax);
}

// The end was decided, and perhaps not carried out.
void Job::Impl::take_over_finished(const Event& event) {
  starts.take_over(body<SupervisorResumed>(event).incarnation);
  agents.adopt(false);
  finishing.order_end();
}

void Job::Impl::order_again() {
  const JobState state = orders.state();
  const bool is_working = state == JobState::kStarting || state == JobState::kRunning;
  const bool may_run = orders.workers_may_run();
  // Before the pre-flight check, whose answer must be that to the newest order.
  if (state != JobState::kFinishing) probation.check_again();
  if (state == JobState::kReserving) starting.reserve_port();
  if (state == JobState::kChecking) checking.begin();  // what was found so far is lost
  if (state == JobState::kReplaying) replaying.send_wave();  // as above
  if (state == JobState::kPlacing) placing.begin(formation.choice());
  if (state == JobState::kBackoff && checkpoints.is_demoting()) checkpoints.repeat_demotion();
  if (state == JobState::kBackoff) {
    copies.repeat_saves();
    wait.await_again();
  }
  if (state == JobState::kReserving || may_run) copies.ask();
  if (is_working) copies.place();
  if (may_run) checking.check_spares();
  if (may_run || state == JobState::kFinishing) starts.repeat();
  if (state == JobState::kStopping) stops.send(SIGTERM, stopping.stop_reason());
  if (state == JobState::kFinishing) stops.send(SIGTERM, finishing.reason());
}

std::uint64_t Job::Impl::digest() {
  Digest digest;
  const auto add = [&digest](auto&... parts) { (parts.fields(digest), ...); };
  add(run, orders, nodes, group, workers, progress, checkpoints, copies, checks, restarts,
      early_ends, slow, diagnoses, alarms, updates, remedies, growth, checking, replaying, placing,
      joining, starts, wait, running, starting, stops, finishing, stopping);
  return digest.value();
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
  impl_->orders.actions().swap(actions);
  impl_->handle(event);
  impl_->orders.actions().swap(actions);
}

JobState Job::state() const { return impl_->orders.state(); }

base::Attempt Job::attempt() const { return impl_->orders.attempt(); }

bool Job::is_ending(base::NodeId node) const { return impl_->nodes.at(node).ending; }
const std::string& Job::drained(base::NodeId node) const { return impl_->nodes.at(node).drained; }

bool Job::works(base::NodeId node) const {
  if (node.value >= impl_->nodes.size()) return false;
  const NodeState& known = impl_->nodes.at(node);
  return known.agent == NodeState::Agent::kJoined && known.may_work();
}

std::string Job::why_not_evict(base::NodeId node) const {
  const NodeState& asked = impl_->nodes.at(node);
  if (!acts_on(state(), Stimulus::kNodeHealth)) return "the run is ending";
  if (asked.unfit) return "it has been evicted already";
  if (asked.agent == NodeState::Agent::kLost) return "its agent is lost";
  if (!impl_->run.spec.policy.is_on()) return "the run does not evict nodes (--compat=torchrun)";
  return in_words(impl_->evictions.obstacle({node}, true));
}

std::uint32_t Job::restarts_used() const { return impl_->restarts.budget().used(); }

std::uint32_t Job::incarnation() const { return impl_->starts.incarnation(); }

const Versions& Job::versions() const { return impl_->updates.versions(); }

const Assignment* Job::assignment(base::Rank rank) const {
  const auto& workers = impl_->group.plan().workers;
  return rank.value < workers.size() ? &workers[rank.value] : nullptr;
}

bool Job::is_foreign(base::NodeId node, base::Attempt attempt, std::uint32_t ordered_by) const {
  const JobState now = state();
  const bool is_over =
      now == JobState::kIdle || now == JobState::kFinishing || now == JobState::kFinished;
  if (is_over) return false;
  const std::uint32_t ours = impl_->starts.ordered_by(attempt);
  const bool is_anothers = ordered_by != 0 && ours != 0 && ordered_by != ours;
  const base::Attempt present = impl_->orders.attempt();
  if (attempt.value < present.value || is_anothers) return is_anothers;
  return attempt != present || !impl_->orders.workers_may_run() ||
         impl_->group.plan().slots(node) == 0;
}

std::optional<Stimulus> Job::acts_on(const Event& event) const {
  const Stimulus stimulus = Impl::stimulus_of(event.body);
  if (!impl_->is_current(event) || !acts_on(state(), stimulus)) return std::nullopt;
  return stimulus;
}

bool Job::acts_on(JobState state, Stimulus stimulus) {
  return Impl::handler(state, stimulus) != &Impl::ignore;
}

std::uint64_t Job::digest() const { return impl_->digest(); }

}  // namespace robustrun::supervisor
