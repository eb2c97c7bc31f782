#pragma once
// One line per event and action: hashed always, printed when a single seed is replayed.

#include <fmt/core.h>

#include <string>

#include "base/core/hash.h"
#include "supervisor/core/job.h"
#include "tests/sim/event_queue.h"

namespace robustrun::sim {

namespace core = supervisor;

struct EventWords {
  std::string operator()(const core::RunStarted& e) const {
    return fmt::format("run started, {} nodes", e.spec.nodes.size());
  }
  std::string operator()(const core::AgentJoined&) const { return "agent joined"; }
  std::string operator()(const core::AgentLost& e) const {
    return fmt::format("agent lost: {}{}", e.why, e.node_answers ? "" : ", no answer");
  }
  std::string operator()(const core::NodeOffered& e) const {
    return fmt::format("node offered: {} with {} slots", e.spec.name, e.spec.slots);
  }
  std::string operator()(const core::PortReserved& e) const {
    return fmt::format("a{} port {}", e.attempt.value, e.port);
  }
  std::string operator()(const core::WorkerStarted& e) const {
    return fmt::format("a{} rank {} started", e.attempt.value, e.rank.value);
  }
  std::string operator()(const core::WorkerStartFailed& e) const {
    return fmt::format("a{} rank {} not started: {}", e.attempt.value, e.rank.value, e.os_errno);
  }
  std::string operator()(const core::WorkerExited& e) const {
    return fmt::format("a{} rank {} ended: {}{}", e.attempt.value, e.rank.value,
                       base::describe(e.status()), e.stopped_by_us ? " (stopped)" : "");
  }
  std::string operator()(const core::WorkersGone& e) const {
    return fmt::format("a{} workers gone, {} unkillable", e.attempt.value, e.unkillable.size());
  }
  std::string operator()(const core::Progress& e) const {
    return fmt::format("a{} progress {}", e.attempt.value, e.steps);
  }
  std::string operator()(const core::StepGoalReached& e) const {
    return fmt::format("a{} goal {}", e.attempt.value, e.steps);
  }
  std::string operator()(const core::SignalReceived& e) const {
    return fmt::format("signal {}{} ({})", e.signal, e.forward_only ? " to forward" : "",
                       static_cast<int>(e.cause));
  }
  std::string operator()(const core::FaultInjected& e) const {
    return fmt::format("a{} injected {}: {}", e.attempt.value, e.kind, e.done);
  }
  std::string operator()(const core::SupervisorResumed& e) const {
    return fmt::format("supervisor {} takes over", e.incarnation);
  }
  std::string operator()(const core::NodeEnding& e) const {
    return fmt::format("node ends: {}", e.why);
  }
  std::string operator()(const core::NodesChecked& e) const {
    return fmt::format("check {} of {} nodes is over", e.check, e.nodes.size());
  }
  std::string operator()(const core::PlacementSolved& e) const {
    std::string text = fmt::format("placement {:016x}:", e.digest);
    for (const base::NodeId node : e.members) text += fmt::format(" n{}", node.value);
    return text;
  }
  std::string operator()(const core::Diagnosed& e) const {
    return fmt::format("diagnosis {}: {}", static_cast<int>(e.stage), e.verdict.sentence);
  }
  std::string operator()(const core::NodeHealth& e) const {
    return fmt::format("health: {}{}", e.line, e.over ? " (over)" : "");
  }
  std::string operator()(const core::MetricAlarm& e) const {
    return fmt::format("metric {}: {} ({}{})", e.name, e.value, static_cast<int>(e.kind),
                       e.over ? ", over" : "");
  }
  std::string operator()(const core::NodesReplayed& e) const {
    std::string text = fmt::format("replay {}:", e.replay);
    for (const core::GroupReplayed& one : e.groups) {
      text += fmt::format(" {}", static_cast<int>(one.outcome));
    }
    return text;
  }
  std::string operator()(const core::UpdateRequested& e) const {
    return fmt::format("version {} is asked for{}", e.version, e.now ? ", now" : "");
  }
  std::string operator()(const core::TimerFired& e) const {
    return fmt::format("timer {} #{}", static_cast<int>(e.id), e.sequence);
  }
};

struct ActionWords {
  std::string operator()(const core::LaunchAgent& a) const {
    return fmt::format("n{} launch agent g{}", a.node.value, a.generation.value);
  }
  std::string operator()(const core::ReservePort& a) const {
    return fmt::format("n{} a{} reserve port", a.node.value, a.attempt.value);
  }
  std::string operator()(const core::StartWorkers& a) const {
    return fmt::format("n{} a{} start {} of {} at {}:{} with version {}", a.node.value,
                       a.attempt.value, a.workers.size(), a.world_size, a.master_addr,
                       a.master_port, a.version);
  }
  std::string operator()(const core::GroupFormed& a) const {
    std::string text = fmt::format("a{} group:", a.attempt.value);
    for (const core::GroupMember& member : a.members) {
      text += fmt::format(" n{} from {}", member.node.value, member.first_rank);
    }
    return text + fmt::format(", {} spares", a.spares.size());
  }
  std::string operator()(const core::StopWorkers& a) const {
    return fmt::format("n{} a{} stop, signal {}, grace {}", a.node.value, a.attempt.value, a.signal,
                       a.grace.count());
  }
  std::string operator()(const core::ForwardSignal& a) const {
    return fmt::format("n{} a{} forward {}", a.node.value, a.attempt.value, a.signal);
  }
  std::string operator()(const core::DismissAgent& a) const {
    return fmt::format("n{} dismiss", a.node.value);
  }
  std::string operator()(const core::AdoptNode& a) const {
    return fmt::format("n{} adopt g{} ({})", a.node.value, a.generation.value,
                       static_cast<int>(a.agent));
  }
  std::string operator()(const core::SetTimer& a) const {
    return fmt::format("timer {} #{} at {}", static_cast<int>(a.id), a.sequence, a.at.count());
  }
  std::string operator()(const core::Decision& a) const {
    return fmt::format("decision {}: {}", static_cast<int>(a.rule), a.text);
  }
  std::string operator()(const core::CheckNodes& a) const {
    return fmt::format("check {} of {} nodes", a.check, a.nodes.size());
  }
  std::string operator()(const core::NodesJudged& a) const {
    std::string text = fmt::format("check {}:", a.check);
    for (const core::NodeVerdict& verdict : a.verdicts) {
      text += fmt::format(" n{} {}", verdict.node.value, static_cast<int>(verdict.level));
    }
    return text;
  }
  std::string operator()(const core::SolvePlacement& a) const {
    return fmt::format("place {:016x}: {} of {} nodes", a.digest, a.places, a.candidates.size());
  }
  std::string operator()(const core::ReplayNodes& a) const {
    std::string text = fmt::format("replay {}:", a.replay);
    for (const auto& group : a.groups) {
      text += " (";
      for (const auto& place : group) text += fmt::format(" n{}", place.node.value);
      text += ")";
    }
    return text;
  }
  std::string operator()(const core::LookBack& a) const {
    return fmt::format("a{} look back", a.attempt.value);
  }
  std::string operator()(const core::LookAtPace& a) const {
    return fmt::format("a{} look at the pace", a.attempt.value);
  }
  std::string operator()(const core::Finish& a) const {
    return fmt::format("finish {}", a.exit_code);
  }
};

inline std::string words_of(const core::Event& event) {
  return fmt::format("n{} g{} {}", event.node.value, event.generation.value,
                     std::visit(EventWords{}, event.body));
}
inline std::string words_of(const core::Action& action) {
  return std::visit(ActionWords{}, action);
}

class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}
  void line(Nanos at, const char* sign, const std::string& text) {
    hash_ = base::hash64(text, hash_ ^ static_cast<std::uint64_t>(at.count()));
    if (print_) {
      fmt::print("{:12.6f} {} {}\n", std::chrono::duration<double>(at).count(), sign, text);
    }
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  bool print_;
  std::uint64_t hash_ = 0;
};

}  // namespace robustrun::sim
