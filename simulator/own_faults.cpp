// What goes wrong in the virtual cluster, and how the core hears of it.

#include <algorithm>

#include "simulator/own_cluster.h"

namespace robustrun::simulator {
namespace {

constexpr std::uint32_t kXidOffTheBus = 79;

core::WorkerExited left_with(const char* last_line) {
  core::WorkerExited exited;
  exited.code = 1;
  exited.stderr_tail = {"Traceback (most recent call last):", last_line};
  return exited;
}

core::WorkerExited left_by(const TracedFault& fault, const char* otherwise) {
  return fault.exited != nullptr ? *fault.exited : left_with(otherwise);
}

}  // namespace

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
  ++course_;  // of what was to come in the attempt nothing will
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

// The driver says so at once; should the core leave the machine where it is, its worker dies.
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

// Of maintenance its agent tells before it goes, and its connection ends at once.
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

// The core tries by itself whom it may launch again.
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

}  // namespace robustrun::simulator
