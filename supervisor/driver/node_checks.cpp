#include "supervisor/driver/node_checks.h"

#include <utility>

#include "supervisor/group/preflight_table.h"

namespace robustrun::supervisor {

NodeChecks::NodeChecks(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                       NodeTable& nodes, Plan plan)
    : executor_(executor), clock_(clock), nodes_(nodes), plan_(std::move(plan)) {}

void NodeChecks::check(const CheckNodes& action) {
  std::vector<PreflightCheck::Node> asked;
  for (std::size_t i = 0; i < action.nodes.size(); ++i) {
    const base::NodeId node = action.nodes[i];
    asked.push_back({node, nodes_[node].generation, action.addresses[i]});
  }
  PreflightCheck::Hands hands;
  hands.send = [this](base::NodeId node, const wire::Message& message) {
    nodes_.send(node, message);
  };
  hands.on_done = [this](NodesChecked result) {
    const auto over = checks_.extract(result.check);
    newest_ = result;
    plan_.on_checked(std::move(result));
  };
  checks_[action.check] =
      PreflightCheck::start(executor_, clock_, action, std::move(asked), std::move(hands), {});
}

void NodeChecks::replay(const ReplayNodes& action, base::Attempt attempt) {
  if (replay_) std::exchange(replay_, nullptr)->drop();
  if (action.groups.empty()) return;
  GroupReplay::Hands hands;
  hands.send = [this](base::NodeId node, const wire::Message& message) {
    nodes_.send(node, message);
  };
  hands.on_done = [this](NodesReplayed result) {
    const auto over = std::exchange(replay_, nullptr);
    plan_.on_replayed(std::move(result));
  };
  replay_ = GroupReplay::start(executor_, clock_, action, {plan_.replay_command, attempt},
                               std::move(hands));
}

std::string NodeChecks::table(const NodesJudged& judged) const {
  return preflight_table(nodes_.names(), newest_, judged.verdicts);
}

// A check may be over by its last report, hence the copies.
void NodeChecks::on_report(base::NodeId node, const wire::CheckReady& report) {
  for (const auto& [number, check] : Checks(checks_)) check->on_report(node, report);
}

void NodeChecks::on_report(base::NodeId node, wire::NodeChecked& report) {
  for (const auto& [number, check] : Checks(checks_)) check->on_report(node, report);
}

void NodeChecks::on_report(base::NodeId node, const wire::PeersMeasured& report) {
  for (const auto& [number, check] : Checks(checks_)) check->on_report(node, report);
}

void NodeChecks::on_report(base::NodeId node, const wire::NodeReplayed& report) {
  if (const auto replay = replay_) replay->on_report(node, report);
}

bool NodeChecks::takes_port(base::NodeId node, const wire::PortReserved& report) {
  const auto replay = replay_;
  return replay && replay->on_report(node, report);
}

void NodeChecks::on_connected_again(base::NodeId node) {
  for (const auto& [number, check] : Checks(checks_)) check->on_connected_again(node);
  if (const auto replay = replay_) replay->on_connected_again(node);
}

void NodeChecks::on_agent_lost(base::NodeId node, const std::string& why) {
  for (const auto& [number, check] : Checks(checks_)) check->on_agent_lost(node, why);
  if (const auto replay = replay_) replay->on_agent_lost(node, why);
}

void NodeChecks::drop() {
  for (const auto& [number, check] : std::exchange(checks_, {})) check->drop();
  if (const auto replay = std::exchange(replay_, nullptr)) replay->drop();
}

}  // namespace robustrun::supervisor
