#pragma once
// One line per event.

#include <fmt/core.h>

#include <string>

#include "supervisor/core/job/job.h"

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
  std::string operator()(const core::CheckpointNoted& e) const {
    return fmt::format("a{} checkpoint {} of step {}", e.attempt.value, static_cast<int>(e.what),
                       e.id.step);
  }
  std::string operator()(const core::CheckpointDemoted& e) const { return "demoted " + e.error; }
  std::string operator()(const core::BackupSolved& e) const {
    std::string text = fmt::format("keepers {:016x}:", e.digest);
    for (const std::uint32_t place : e.keepers) text += fmt::format(" {}", place);
    return text;
  }
  std::string operator()(const core::CopiesKept& e) const {
    std::string text = fmt::format("a{} copies:", e.attempt.value);
    for (const core::KeptCopy& copy : e.copies) {
      text +=
          fmt::format(" r{}{}{}", copy.rank.value, copy.here ? "h" : "", copy.at_peer ? "p" : "");
    }
    return text;
  }
  std::string operator()(const core::HeldCopiesSaved& e) const {
    return fmt::format("saved {} by order {}, {} errors", e.saved, e.order, e.errors.size());
  }
  std::string operator()(const core::SavingOver& e) const {
    return fmt::format("a{} copies are saved, order {}", e.made_in.value, e.order);
  }
  std::string operator()(const core::CheckpointMoved& e) const {
    return fmt::format("a{} {} is moved aside", e.attempt.value, e.path);
  }
  std::string operator()(const core::StartStages& e) const {
    return fmt::format("a{} {} stages", e.attempt.value, e.stages.size());
  }
  std::string operator()(const core::UpdateRequested& e) const {
    return fmt::format("version {} is asked for{}", e.version, e.now ? ", now" : "");
  }
  std::string operator()(const core::TimerFired& e) const {
    return fmt::format("timer {} #{}", static_cast<int>(e.id), e.sequence);
  }
};

}  // namespace robustrun::sim
