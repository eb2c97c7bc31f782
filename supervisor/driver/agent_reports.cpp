#include "supervisor/driver/agent_reports.h"

#include <algorithm>
#include <utility>

#include "base/io/log.h"
#include "supervisor/driver/translate.h"

namespace robustrun::supervisor {

AgentReports::AgentReports(const Job& job, NodeTable& nodes, GroupProgress& progress, bool traced,
                           Hands hands)
    : job_(job), nodes_(nodes), progress_(progress), traced_(traced), hands_(std::move(hands)) {}

void AgentReports::on_report(base::NodeId node, const wire::WorkerStarted& report) {
  if (job_.is_foreign(node, report.attempt, report.ordered_by)) return hands_.on_foreign(node);
  const auto rank = nodes_.rank_of(node, report.local_rank);
  if (rank) hands_.on_event(to_event(report, *rank), node);
}

void AgentReports::on_report(base::NodeId node, const wire::WorkerStartFailed& report) {
  const auto rank = nodes_.rank_of(node, report.local_rank);
  if (rank) hands_.on_event(to_event(report, *rank), node);
}

void AgentReports::on_report(base::NodeId node, wire::WorkerExited& report) {
  const auto rank = nodes_.rank_of(node, report.local_rank);
  if (!rank) return;
  report.at += nodes_[node].clock_offset;
  const bool is_current = report.attempt == job_.attempt();
  if (is_current) progress_.end_worker(*rank, report.at);
  // So that the journal knows the last step before a failure, and the final metrics.
  progress_.journal_all(node);
  WorkerExited exited = to_event(report, *rank);
  exited.traced = traced_;
  if (is_current) {
    exited.steps = progress_.readings().steps_of(*rank);
    exited.step = progress_.readings().step_of(*rank);
    if (exited.ended_well()) hands_.on_ended_well();
  }
  hands_.on_event(std::move(exited), node);
}

void AgentReports::on_report(base::NodeId node, wire::WorkersGone& report) {
  hands_.on_event(std::move(report), node);
}

void AgentReports::on_report(base::NodeId node, wire::PortReserved& report) {
  if (!hands_.takes_port(node, report)) hands_.on_event(std::move(report), node);
}

void AgentReports::on_report(base::NodeId node, const wire::SavingOver& report) {
  hands_.on_event(report, node);
}

void AgentReports::on_report(base::NodeId node, wire::NodeHealth& report) {
  hands_.on_event(checked(std::move(report)), node);
}

void AgentReports::on_report(base::NodeId node, wire::CheckpointDemoted& report) {
  hands_.on_event(checked(std::move(report)), node);
}

void AgentReports::on_report(base::NodeId node, wire::CheckpointMoved& report) {
  hands_.on_event(checked(std::move(report)), node);
}

void AgentReports::on_report(base::NodeId node, wire::HeldCopiesSaved& report) {
  hands_.on_event(checked(std::move(report)), node);
}

void AgentReports::on_report(base::NodeId node, const wire::NodeStages& report) {
  if (report.attempt != job_.attempt()) return;
  const NodeLink& link = nodes_[node];
  StartStages stages = to_event(report, link.ranks, link.clock_offset);
  if (!stages.stages.empty()) hands_.on_event(std::move(stages), node);
}

void AgentReports::on_report(base::NodeId node, wire::StageNews& report) {
  NodeLink& link = nodes_[node];
  report.since += link.clock_offset;
  for (wire::RankStage& rank : report.ranks) rank.since += link.clock_offset;
  link.stage = std::move(report);
}

void AgentReports::on_report(base::NodeId node, const wire::Notice& report) {
  const auto level = static_cast<base::LogLevel>(
      std::min<std::uint8_t>(report.level, static_cast<std::uint8_t>(base::LogLevel::kError)));
  if (base::log_enabled(level)) {
    base::log_line(level, {.node = nodes_.name(node), .rank = report.rank}, report.text);
  }
}

}  // namespace robustrun::supervisor
