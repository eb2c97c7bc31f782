#include "simulator/own_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/core/result.h"
#include "simulator/stopwatch.h"
#include "simulator/virtual_time.h"
#include "supervisor/core/job/job.h"

namespace robustrun::simulator {
namespace {

namespace core = supervisor;

constexpr std::uint32_t kPortOfTheJob = 29500;
constexpr std::uint32_t kXidOffTheBus = 79;
// The trace begins this long after the launch, when everything has started.
constexpr Nanos kLeadIn = hours(2);

// The virtual cluster: machines, faults that strike them, and how the core's orders are carried
// out.
class OwnCluster {
 public:
  OwnCluster(const OwnPolicy& own, const JobTerms& job, const std::vector<TracedFault>& trace,
             std::uint64_t seed, const AskCore& ask);
  Timeline run();

 private:
  struct Machine {
    base::NodeId node{};            // in the job's current run, if `is_known`
    base::Generation generation{};  // of its agent
    bool is_known = false;
    bool is_away = false;   // dead, in maintenance or under repair
    bool joined = false;    // its agent runs, and the core would use it
    bool is_out = false;    // evicted, or its agent cannot be launched again by the core
    bool is_offer = false;  // joined by itself: the core does not launch its agent again
    bool is_broken = false; // `broken_as` gives the kind
    FaultKind broken_as = FaultKind::kGpu;
    Nanos repair{};         // duration
    Nanos back_at{};        // time, if it is away
    double slows = 1;
  };

  // The course of the job
  void begin_run();
  void tell(base::NodeId node, base::Generation generation, core::EventBody body);
  void tell(const Machine& machine, core::EventBody body);
  void tell(const core::Event& event);
  void follow_state();
  [[nodiscard]] Phase phase_of(core::JobState state) const;
  void all_started();
  void first_step();
  void run_ended();
  void report_progress();
  void later(Nanos delay, std::function<void()> what);  // unless the run has ended by then
  void in_attempt(Nanos delay, std::function<void()> what);  // unless the attempt has ended by then
  [[nodiscard]] core::JobSpec spec() const;
  [[nodiscard]] std::uint32_t available() const;
  [[nodiscard]] bool workers_live() const;

  // Faults, and how the core learns of them
  void next_fault();
  [[nodiscard]] Machine* machine_of(const TracedFault& fault);
  void meet(const TracedFault& fault);
  void device_fails(Machine& machine, const TracedFault& fault);
  void machine_goes(Machine& machine, const TracedFault& fault);
  void hangs(Machine& machine);
  void slows_down(Machine& machine, const TracedFault& fault);
  void worker_dies(Machine& machine, Nanos after, core::WorkerExited left);
  void suspect_slow();
  void strike_again();  // faults of machines in the new attempt that are still broken
  void stop_training();
  void update_pace();
  void send_away(Machine& machine, Nanos for_how_long);
  void comes_back(Machine& machine);
  [[nodiscard]] Machine* slow_machine();
  [[nodiscard]] bool in_group(const Machine& machine) const;
  [[nodiscard]] base::Rank rank_of(const Machine& machine) const;

  // Orders of the core
  void perform(const core::Action& action);
  void launch(const core::LaunchAgent& order);
  void start(const core::StartWorkers& order);
  void stop(const core::StopWorkers& order);
  void arm(const core::SetTimer& timer);
  void check(const core::CheckNodes& order);
  void replay(const core::ReplayNodes& order);
  void look_at_pace(const core::LookAtPace& order);
  void heed(const core::Decision& decision);
  void evicted(base::NodeId node);
  Machine& machine_of(base::NodeId node) { return machines_[machine_of_[node.value]]; }

  const OwnPolicy& own_;
  const JobTerms& terms_;
  const std::vector<TracedFault>& trace_;
  std::uint64_t seed_;
  const AskCore& ask_;
  VirtualTime time_;
  Stopwatch watch_;
  std::vector<Machine> machines_;
  std::size_t next_fault_ = 0;

  core::Job job_;
  std::vector<core::Action> actions_;  // reused memory
  std::uint64_t run_ = 0;  // counts the job's runs
  std::uint64_t course_ = 0;  // incremented whenever pending events of an attempt become void
  bool began_ = false;
  core::JobState shown_ = core::JobState::kIdle;
  std::vector<std::uint32_t> machine_of_;  // by node
  std::uint32_t joined_ = 0;  // machines with `joined`
  std::vector<base::NodeId> group_;  // by rank
  std::vector<base::NodeId> stopping_;
  bool saves_first_ = false;  // of the current stop
  bool is_hung_ = false;  // of the attempt: hanging workers do not react to a stop
  bool is_cold_ = false;  // of the restart: a machine was lost, and its standby workers with it
  bool is_fresh_ = false;  // of the failure: not a repetition of the one before
  bool residual_due_ = false;
  bool is_queued_ = false;  // the job waits to be started anew
  base::Attempt attempt_;
  Nanos trains_since_{};
  std::array<std::uint64_t, core::kTimers> armed_{};
};

// ---- The course of the job: runs, attempts, and the phase of its time

OwnCluster::OwnCluster(const OwnPolicy& own, const JobTerms& job,
                       const std::vector<TracedFault>& trace, std::uint64_t seed,
                       const AskCore& ask)
    : own_(own),
      terms_(job),
      trace_(trace),
      seed_(seed),
      ask_(ask),
      machines_(job.nodes + job.spares) {}

Timeline OwnCluster::run() {
  begin_run();
  next_fault();
  const Nanos end = kLeadIn + terms_.duration;
  while (!time_.empty() && time_.next() <= end) time_.step();
  return watch_.end(end);
}

core::JobSpec OwnCluster::spec() const {
  core::JobSpec spec;
  spec.run_id = "sim";
  spec.group.wait_for_nodes = minutes(10);  // --wait-for-nodes as shipped
  if (own_.group) spec.group = *own_.group;
  spec.group.max_nodes = spec.group.min_nodes = terms_.nodes;
  spec.group.open = true;  // repaired machines join by themselves
  spec.restart = own_.restart;
  spec.master_port = kPortOfTheJob;
  spec.faults = own_.faults;
  spec.policy = own_.policy;
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    if (!machines_[i].is_away) spec.nodes.push_back({fmt::format("n{}", i), "10.0.0.1"});
  }
  return spec;
}

std::uint32_t OwnCluster::available() const {
  return static_cast<std::uint32_t>(std::ranges::count(machines_, false, &Machine::is_away));
}

void OwnCluster::begin_run() {
  if (available() < terms_.nodes) return;  // comes_back() tries again
  ++run_;
  ++course_;
  job_ = core::Job();
  shown_ = core::JobState::kIdle;
  joined_ = 0;
  armed_ = {};
  machine_of_.clear();
  group_.clear();
  stopping_.clear();
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    Machine& machine = machines_[i];
    machine.is_known = !machine.is_away;
    machine.joined = machine.is_out = machine.is_offer = false;
    if (machine.is_away) continue;
    machine.node.value = static_cast<std::uint32_t>(machine_of_.size());
    machine_of_.push_back(static_cast<std::uint32_t>(i));
  }
  core::RunStarted started;
  started.spec = spec();
  started.seed = seed_ + run_;
  tell({}, {}, std::move(started));
}

void OwnCluster::tell(base::NodeId node, base::Generation generation, core::EventBody body) {
  tell({time_.now(), node, generation, std::move(body)});
}

void OwnCluster::tell(const core::Event& event) {
  const std::uint64_t run = run_;
  std::vector<core::Action> actions = std::move(actions_);
  if (ask_) {
    actions = ask_(job_, event);
  } else {
    job_.handle(event, actions);
  }
  for (const core::Action& action : actions) perform(action);
  actions_ = std::move(actions);
  if (run == run_) follow_state();
}

void OwnCluster::tell(const Machine& machine, core::EventBody body) {
  if (machine.is_known) tell(machine.node, machine.generation, std::move(body));
}

void OwnCluster::later(Nanos delay, std::function<void()> what) {
  time_.after(delay, [this, run = run_, what = std::move(what)] {
    if (run == run_ && job_.state() != core::JobState::kFinished) what();
  });
}

void OwnCluster::in_attempt(Nanos delay, std::function<void()> what) {
  later(delay, [this, course = course_, what = std::move(what)] {
    if (course == course_) what();
  });
}

bool OwnCluster::workers_live() const {
  return job_.state() == core::JobState::kStarting || job_.state() == core::JobState::kRunning;
}

Phase OwnCluster::phase_of(core::JobState state) const {
  using enum core::JobState;
  if (state == kStarting) return Phase::kRestart;
  if (state == kChecking || state == kReplaying) return Phase::kCulprit;
  return state == kJoining && joined_ < terms_.nodes ? Phase::kWaiting : Phase::kReplace;
}

// Derives the job's phase from the core's state, until its workers run.
void OwnCluster::follow_state() {
  const core::JobState state = job_.state();
  if (state == shown_) {
    if (state == core::JobState::kJoining && began_) watch_.pause(time_.now(), phase_of(state));
    return;
  }
  const bool worked = shown_ == core::JobState::kStarting || shown_ == core::JobState::kRunning;
  const bool breaks_down = state == core::JobState::kStopping && worked;
  if (breaks_down && is_fresh_) {
    watch_.note_incident();
    residual_due_ = true;
  }
  is_fresh_ = is_fresh_ && !breaks_down;
  shown_ = state;
  ++course_;
  if (state == core::JobState::kFinished) return run_ended();
  if (state == core::JobState::kRunning) return all_started();
  if (!began_) return;
  watch_.pause(time_.now(), phase_of(state), breaks_down && saves_first_);
}

void OwnCluster::all_started() {
  if (began_) watch_.pause(time_.now(), Phase::kRestart);
  update_pace();
  strike_again();
  if (!began_) return time_.at(kLeadIn, [this] { first_step(); });
  Nanos at = is_cold_ && terms_.start_cold ? terms_.start_cold->value : terms_.start.value;
  in_attempt(at, [this] { watch_.pause(time_.now(), Phase::kLoad); });
  at += terms_.load.value;
  if (residual_due_) {
    in_attempt(at, [this] { watch_.pause(time_.now(), Phase::kResidual); });
    at += terms_.residual.value;
  }
  in_attempt(at, [this] { first_step(); });
}

void OwnCluster::first_step() {
  if (job_.state() != core::JobState::kRunning) return;
  if (began_) {
    watch_.train(time_.now());
  } else {
    watch_.begin(time_.now());
  }
  began_ = true;
  residual_due_ = is_cold_ = false;
  trains_since_ = time_.now();
  const std::uint64_t course = course_;
  core::Progress mark;
  mark.attempt = attempt_;
  mark.mark = core::Progress::Mark::kFirstStep;
  mark.reached_at = time_.now();
  mark.steps = 1;
  tell({}, {}, std::move(mark));
  if (course != course_) return;
  for (const base::NodeId node : group_) {
    Machine& machine = machine_of(node);
    if (!machine.is_broken || machine.broken_as != FaultKind::kHang) continue;
    in_attempt(own_.times.hang_again.value, [this, &machine] { hangs(machine); });
  }
  if (slow_machine() != nullptr) suspect_slow();
}

// As the driver does at every failure: counts progress up to now.
void OwnCluster::report_progress() {
  core::Progress mark;
  mark.attempt = attempt_;
  mark.reached_at = time_.now();
  mark.steps = 1 + static_cast<std::uint64_t>((time_.now() - trains_since_) / terms_.step.value);
  tell({}, {}, std::move(mark));
}

// A user, or a script, starts the job again without the broken machines.
void OwnCluster::run_ended() {
  if (began_) watch_.pause(time_.now(), Phase::kWaiting);
  watch_.note_gave_up();
  for (Machine& machine : machines_) {
    machine.is_known = false;
    if (machine.is_broken && !machine.is_away) send_away(machine, machine.repair);
  }
  is_queued_ = true;
  time_.after(own_.times.requeue.value, [this] {
    is_queued_ = false;
    begin_run();
  });
}

// ---- Faults, and how the core learns of them

core::WorkerExited left_with(const char* last_line) {
  core::WorkerExited exited;
  exited.code = 1;
  exited.stderr_tail = {"Traceback (most recent call last):", last_line};
  return exited;
}

core::WorkerExited left_by(const TracedFault& fault, const char* otherwise) {
  return fault.exited != nullptr ? *fault.exited : left_with(otherwise);
}

void OwnCluster::next_fault() {
  if (next_fault_ == trace_.size()) return;
  time_.at(kLeadIn + trace_[next_fault_].at, [this] {
    const TracedFault& fault = trace_[next_fault_++];
    if (machine_of(fault) != nullptr) meet(fault);
    next_fault();
  });
}

OwnCluster::Machine* OwnCluster::machine_of(const TracedFault& fault) {
  if (!fault.is_place) {
    return fault.machine < machines_.size() ? &machines_[fault.machine] : nullptr;
  }
  return fault.machine < group_.size() ? &machine_of(group_[fault.machine]) : nullptr;
}

bool OwnCluster::in_group(const Machine& machine) const {
  return machine.is_known && std::ranges::find(group_, machine.node) != group_.end();
}

base::Rank OwnCluster::rank_of(const Machine& machine) const {
  const auto found = std::ranges::find(group_, machine.node);
  return base::Rank{static_cast<std::uint32_t>(found - group_.begin())};
}

void OwnCluster::meet(const TracedFault& fault) {
  Machine& machine = *machine_of(fault);
  if (machine.is_away) return;
  const bool strikes = workers_live() && in_group(machine);
  const bool needs_training = fault.kind == FaultKind::kHang ||
                              fault.kind == FaultKind::kSoftware ||
                              fault.kind == FaultKind::kPassing;
  if (needs_training && !(strikes && watch_.is_training())) return;
  is_fresh_ = is_fresh_ || strikes;
  switch (fault.kind) {
    case FaultKind::kGpu: return device_fails(machine, fault);
    case FaultKind::kMachine:
    case FaultKind::kMaintenance: return machine_goes(machine, fault);
    case FaultKind::kSlow: return slows_down(machine, fault);
    case FaultKind::kHang:
      machine.is_broken = fault.stays;
      machine.broken_as = FaultKind::kHang;
      machine.repair = fault.lasts;
      return hangs(machine);
    case FaultKind::kSoftware:
      return worker_dies(machine, own_.times.worker_death.value,
                         left_by(fault, "ValueError: simulated"));
    case FaultKind::kPassing:
      return worker_dies(machine, own_.times.worker_death.value,
                         left_by(fault, "NET/IB : Got completion from peer with error 12"));
  }
}

void OwnCluster::stop_training() {
  if (!began_) return;
  if (watch_.is_training()) report_progress();
  if (workers_live()) watch_.pause(time_.now(), Phase::kDetect);
  ++course_;  // voids all pending events of the attempt
}

void OwnCluster::worker_dies(Machine& machine, Nanos after, core::WorkerExited left) {
  stop_training();
  left.pid = 1;
  left.traced = false;
  left.seen_at = {};
  in_attempt(after, [this, &machine, left = std::move(left)] {
    if (!in_group(machine)) return;
    core::WorkerExited exited = left;
    exited.attempt = attempt_;
    exited.rank = rank_of(machine);
    tell(machine, std::move(exited));
  });
}

// The driver reports it at once; if the core leaves the machine in the group, its worker dies.
void OwnCluster::device_fails(Machine& machine, const TracedFault& fault) {
  machine.is_broken = true;
  machine.broken_as = FaultKind::kGpu;
  machine.repair = fault.lasts;
  if (workers_live() && in_group(machine)) {
    worker_dies(machine, own_.times.device_fault.value + seconds(2),
                left_with("RuntimeError: CUDA error: uncorrectable ECC error encountered"));
  }
  later(own_.times.device_fault.value, [this, &machine] {
    if (!machine.joined) return;
    core::NodeHealth health;
    health.subject = "GPU 3";
    health.line = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.";
    health.xid = kXidOffTheBus;
    tell(machine, std::move(health));
  });
}

// For maintenance, the agent announces the end beforehand, and its connection closes at once.
void OwnCluster::machine_goes(Machine& machine, const TracedFault& fault) {
  const bool strikes = workers_live() && in_group(machine);
  const bool announced = fault.kind == FaultKind::kMaintenance;
  if (announced && machine.joined) tell(machine, core::NodeEnding{"maintenance"});
  if (strikes) stop_training();
  is_cold_ = is_cold_ || strikes;
  if (machine.joined) --joined_;
  machine.joined = false;
  machine.is_broken = machine.is_broken || fault.stays;
  machine.is_out = machine.is_out || machine.is_offer;
  send_away(machine, fault.lasts);
  const Nanos noticed = announced ? own_.times.worker_death.value : own_.times.machine_death.value;
  const bool answers = fault.node_answers;
  later(noticed, [this, &machine, generation = machine.generation, noticed, answers] {
    if (machine.is_known && machine.generation == generation) {
      tell(machine, core::AgentLost{"no route to host", answers, noticed});
    }
  });
}

void OwnCluster::hangs(Machine& machine) {
  stop_training();
  is_hung_ = true;
  const Nanos steps = own_.times.hang_steps.value * terms_.step.value;
  const auto say = [this, &machine](core::Diagnosed::Stage stage) {
    core::Diagnosed found;
    found.attempt = attempt_;
    found.stage = stage;
    found.verdict.finding = tracer::Finding::kNeverEntered;
    found.verdict.culprits = {rank_of(machine)};
    found.verdict.sentence = "a rank did not enter the collective";
    tell({}, {}, std::move(found));
  };
  in_attempt(own_.times.hang_suspected.value + steps, [this, say] {
    watch_.pause(time_.now(), Phase::kCulprit);
    say(core::Diagnosed::Stage::kSuspected);
  });
  in_attempt(own_.times.hang_convicted.value + steps,
             [say] { say(core::Diagnosed::Stage::kConvicted); });
}

OwnCluster::Machine* OwnCluster::slow_machine() {
  Machine* slowest = nullptr;
  for (const base::NodeId node : group_) {
    Machine& machine = machine_of(node);
    if (machine.slows > (slowest == nullptr ? 1 : slowest->slows)) slowest = &machine;
  }
  return slowest;
}

void OwnCluster::update_pace() {
  const Machine* slowest = slow_machine();
  watch_.slow(time_.now(), slowest == nullptr ? 1 : slowest->slows);
}

void OwnCluster::slows_down(Machine& machine, const TracedFault& fault) {
  machine.slows = fault.slows;
  update_pace();
  if (watch_.is_training() && in_group(machine)) suspect_slow();
  time_.after(fault.lasts, [this, &machine] {
    machine.slows = 1;
    update_pace();
  });
}

void OwnCluster::suspect_slow() {
  const Nanos steps = own_.times.slow_steps.value * terms_.step.value;
  in_attempt(own_.times.slow_suspected.value + steps, [this] {
    Machine* slowest = slow_machine();
    if (slowest == nullptr || !watch_.is_training()) return;
    core::Diagnosed found;
    found.attempt = attempt_;
    found.verdict.finding = tracer::Finding::kSlowRank;
    found.verdict.culprits = {rank_of(*slowest)};
    found.verdict.sentence = "a rank is late";
    found.usual = terms_.step.value;
    found.period = from_seconds(in_seconds(terms_.step.value) * slowest->slows);
    tell({}, {}, std::move(found));
  });
}

void OwnCluster::strike_again() {
  for (const base::NodeId node : group_) {
    Machine& machine = machine_of(node);
    if (!machine.is_broken || machine.broken_as != FaultKind::kGpu) continue;
    return worker_dies(machine, own_.times.device_again.value,
                       left_with("RuntimeError: CUDA error: uncorrectable ECC error encountered"));
  }
}

void OwnCluster::send_away(Machine& machine, Nanos for_how_long) {
  machine.is_away = true;
  machine.back_at = time_.now() + for_how_long;
  time_.at(machine.back_at, [this, &machine, at = machine.back_at] {
    if (machine.is_away && machine.back_at == at) comes_back(machine);
  });
}

// The core itself retries machines that it may launch agents on.
void OwnCluster::comes_back(Machine& machine) {
  machine.is_away = machine.is_broken = false;
  if (job_.state() == core::JobState::kFinished) {
    if (!is_queued_) begin_run();
    return;
  }
  if (machine.is_known && !machine.is_out) return;
  machine.is_known = machine.is_offer = true;
  machine.is_out = false;
  machine.node.value = static_cast<std::uint32_t>(machine_of_.size());
  const auto index_of = static_cast<std::uint32_t>(&machine - machines_.data());
  machine_of_.push_back(index_of);
  core::NodeOffered offer;
  offer.spec.name = "n" + std::to_string(index_of);
  offer.spec.address = "10.0.0.1";
  tell({}, {}, std::move(offer));
}

void OwnCluster::evicted(base::NodeId node) {
  Machine& machine = machine_of(node);
  if (!machine.is_known || machine.node != node) return;
  if (machine.joined) --joined_;
  machine.joined = false;
  machine.is_out = true;
  if (!machine.is_away)
    send_away(machine, machine.is_broken ? machine.repair : own_.times.tested.value);
}

// ---- Orders of the core, and how they are carried out

void OwnCluster::perform(const core::Action& action) {
  if (const auto* agent = std::get_if<core::LaunchAgent>(&action)) return launch(*agent);
  if (const auto* begin = std::get_if<core::StartWorkers>(&action)) return start(*begin);
  if (const auto* end = std::get_if<core::StopWorkers>(&action)) return stop(*end);
  if (const auto* timer = std::get_if<core::SetTimer>(&action)) return arm(*timer);
  if (const auto* nodes = std::get_if<core::CheckNodes>(&action)) return check(*nodes);
  if (const auto* groups = std::get_if<core::ReplayNodes>(&action)) return replay(*groups);
  if (const auto* pace = std::get_if<core::LookAtPace>(&action)) return look_at_pace(*pace);
  if (const auto* decision = std::get_if<core::Decision>(&action)) return heed(*decision);
  if (const auto* judged = std::get_if<core::NodesJudged>(&action)) {
    for (const core::NodeVerdict& one : judged->verdicts) {
      if (one.level == core::Fitness::kUnfit) evicted(one.node);
    }
  }
}

void OwnCluster::launch(const core::LaunchAgent& order) {
  Machine& machine = machine_of(order.node);
  machine.generation = order.generation;
  later(own_.times.agent.value, [this, &machine, order] {
    if (!machine.is_known || machine.node != order.node) return;
    if (machine.generation != order.generation) return;
    if (machine.is_away) return tell(machine, core::AgentLost{"no route to host", false, {}});
    if (!machine.joined) ++joined_;
    machine.joined = true;
    tell(machine, core::AgentJoined{1, {}, 1});
  });
}

// Orders of an attempt come together, group rank 0 first.
void OwnCluster::start(const core::StartWorkers& order) {
  if (order.group_rank == 0) {
    attempt_ = order.attempt;
    is_hung_ = false;
    group_.clear();
    later(own_.times.start.value, [this, attempt = order.attempt] {
      const std::vector<base::NodeId> group = group_;
      core::Event event{time_.now(), {}, {}, core::WorkerStarted{attempt, {}, 1}};
      for (std::uint32_t i = 0; i < group.size(); ++i) {
        if (job_.state() != core::JobState::kStarting || attempt_ != attempt) return;
        const Machine& machine = machine_of(group[i]);
        if (machine.is_away || !machine.is_known) continue;
        event.node = machine.node;
        event.generation = machine.generation;
        std::get<core::WorkerStarted>(event.body).rank = base::Rank{i};
        tell(event);
      }
    });
  }
  group_.push_back(order.node);
}

void OwnCluster::stop(const core::StopWorkers& order) {
  if (stopping_.empty()) {
    saves_first_ = order.save_first;
    const Nanos saving = order.save_first ? terms_.checkpoint_stall.value : Nanos{};
    const Figure<Nanos>& stop = is_hung_ ? own_.times.stop_hung : own_.times.stop;
    later(stop.value + saving, [this, attempt = order.attempt] {
      const std::vector<base::NodeId> nodes = std::exchange(stopping_, {});
      core::Event event{time_.now(), {}, {}, core::WorkersGone{attempt, 0, {}, {}}};
      for (const base::NodeId node : nodes) {
        const Machine& machine = machine_of(node);
        const bool is_there =
            machine.is_known && machine.node == node && (machine.joined || machine.is_out);
        if (!is_there) continue;
        event.node = node;
        event.generation = machine.generation;
        tell(event);
      }
    });
  }
  stopping_.push_back(order.node);
}

void OwnCluster::arm(const core::SetTimer& timer) {
  armed_[static_cast<std::size_t>(timer.id)] = timer.sequence;
  time_.at(timer.at, [this, timer, run = run_] {
    if (run != run_ || armed_[static_cast<std::size_t>(timer.id)] != timer.sequence) return;
    tell({}, {}, core::TimerFired{timer.id, timer.sequence});
  });
}

// A broken machine is reported as such; the others have no findings.
void OwnCluster::check(const core::CheckNodes& order) {
  later(own_.times.check.value, [this, order] {
    core::NodesChecked result;
    result.check = order.check;
    result.full = order.full;
    result.took = own_.times.check.value;
    result.nodes.reserve(order.nodes.size());
    for (const base::NodeId node : order.nodes) {
      const Machine& machine = machine_of(node);
      core::NodeCheck one;
      one.node = node;
      one.generation = machine.generation;
      one.answered = true;
      constexpr std::uint64_t kRoom = std::uint64_t{1} << 36;
      one.facts.disk = {"/job", kRoom, kRoom, ""};
      one.facts.shm = {"/dev/shm", kRoom, kRoom, ""};
      if (machine.is_broken) one.facts.missing = "a GPU";
      result.nodes.push_back(std::move(one));
    }
    tell({}, {}, std::move(result));
  });
}

void OwnCluster::replay(const core::ReplayNodes& order) {
  if (order.groups.empty()) return;
  later(own_.times.replay.value, [this, order] {
    core::NodesReplayed result{order.replay, own_.times.replay.value, {}};
    for (const auto& group : order.groups) {
      const bool fails = std::ranges::any_of(group, [this](const core::ReplayNodes::Place& place) {
        return machine_of(place.node).is_broken;
      });
      using Outcome = core::GroupReplayed::Outcome;
      result.groups.push_back({fails ? Outcome::kFailed : Outcome::kPassed, {}, {}});
    }
    tell({}, {}, std::move(result));
  });
}

void OwnCluster::look_at_pace(const core::LookAtPace& order) {
  in_attempt(own_.times.look.value, [this, order] {
    core::Diagnosed found;
    found.attempt = order.attempt;
    found.stage = core::Diagnosed::Stage::kRound;
    found.usual = found.period = terms_.step.value;
    if (const Machine* slowest = slow_machine()) {
      found.verdict.finding = tracer::Finding::kSlowRank;
      found.verdict.culprits = {rank_of(*slowest)};
      found.period = from_seconds(in_seconds(terms_.step.value) * slowest->slows);
    }
    tell({}, {}, std::move(found));
  });
}

void OwnCluster::heed(const core::Decision& decision) {
  if (decision.rule != core::Rule::kNodeEvicted) return;
  for (const base::NodeId node : decision.nodes) evicted(node);
}

}  // namespace

Timeline run_own(const OwnPolicy& own, const JobTerms& job, const std::vector<TracedFault>& trace,
                 std::uint64_t seed, const AskCore& ask) {
  RR_ASSERT(job.nodes > 0 && job.step.value > Nanos{});
  return OwnCluster(own, job, trace, seed, ask).run();
}

}  // namespace robustrun::simulator
