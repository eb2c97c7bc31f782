// The course of the job: runs, attempts, and what phase of its time that is.

#include "simulator/own_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/result.h"
#include "simulator/own_cluster.h"

namespace robustrun::simulator {
namespace {

constexpr std::uint32_t kPortOfTheJob = 29500;

}  // namespace

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
  spec.group.open = true;  // whoever was repaired offers itself
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
  if (available() < terms_.nodes) return;  // comes_back() asks again
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

// What the core does says what the job's time goes into, until its workers run.
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

// As the driver does at every failure: progress is counted up to there.
void OwnCluster::report_progress() {
  core::Progress mark;
  mark.attempt = attempt_;
  mark.reached_at = time_.now();
  mark.steps = 1 + static_cast<std::uint64_t>((time_.now() - trains_since_) / terms_.step.value);
  tell({}, {}, std::move(mark));
}

// Somebody, or a script around it, starts the job again, without the machines that are broken.
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

Timeline run_own(const OwnPolicy& own, const JobTerms& job, const std::vector<TracedFault>& trace,
                 std::uint64_t seed, const AskCore& ask) {
  RR_ASSERT(job.nodes > 0 && job.step.value > Nanos{});
  return OwnCluster(own, job, trace, seed, ask).run();
}

}  // namespace robustrun::simulator
