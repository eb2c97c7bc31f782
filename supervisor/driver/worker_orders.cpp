#include "supervisor/driver/worker_orders.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "supervisor/driver/translate.h"
#include "supervisor/run_dir/version_store.h"

namespace robustrun::supervisor {

WorkerOrders::WorkerOrders(const base::Clock& clock, const RunRequest& request, NodeTable& nodes,
                           Hands hands)
    : clock_(clock), request_(request), nodes_(nodes), hands_(std::move(hands)) {}

void WorkerOrders::perform(const ReservePort& action) {
  nodes_[action.node].orders.clear();
  nodes_.order(action.node, wire::ReservePort{action.attempt});
}

void WorkerOrders::perform(const StartWorkers& action) {
  NodeLink& link = nodes_[action.node];
  link.ranks.clear();
  link.orders.clear();
  for (const Assignment worker : action.workers) link.ranks.push_back(worker.rank);
  if (std::exchange(started_, action.attempt) != action.attempt) {
    hands_.on_attempt(action,
                      std::exchange(taken_over_since_, std::nullopt).value_or(clock_.now()));
  }
  wire::StartWorkers message = to_message(action, request_.routes);
  if (action.version != 0) {
    auto content = load_version(request_.run_directory, action.version);
    if (!content) {
      // As the agent would say it; nothing was ordered, so nothing is left there, either.
      const std::string why =
          fmt::format("version {} is lost: {}", action.version, content.error().what);
      return hands_.on_failed({action.attempt, link.ranks.front(), 0, why}, action.node);
    }
    message.version = to_message(request_.run_directory, action.version, *content);
  }
  const bool has_rank_zero = std::ranges::find(link.ranks, base::Rank{0}) != link.ranks.end();
  if (has_rank_zero && action.group_world_size > 1) message.store_clients = nodes_.addresses();
  standbys_.note_start(action.node, message);
  nodes_.order(action.node, message);
}

void WorkerOrders::perform(const StopWorkers& action) {
  nodes_[action.node].kill_at = clock_.now() + action.grace;
  nodes_.order(action.node, to_message(action));
}

void WorkerOrders::perform(const ForwardSignal& action) {
  nodes_.send(action.node, wire::SignalWorkers{action.attempt, action.signal});
}

void WorkerOrders::perform(const DismissAgent& action) {
  nodes_.send(action.node, wire::Dismiss{action.exit_code});
}

void WorkerOrders::perform(const DemoteCheckpoint& action) {
  nodes_.order(action.node, to_message(action));
}

void WorkerOrders::perform(const SaveHeldCopies& action) {
  nodes_.order(action.node, to_message(action));
}

void WorkerOrders::on_report(base::NodeId, const wire::StandbyModules& report) {
  standbys_.note_modules(report);
}

void WorkerOrders::on_connected_again(base::NodeId node) {
  standbys_.forget(node);
  nodes_.repeat_orders(node, clock_.now());
}

// A node without ranks is a spare, as the group is formed.
void WorkerOrders::prepare_spare(base::NodeId node) {
  const NodeLink& link = nodes_[node];
  if (!link.joined || link.lost || !link.channel || !link.ranks.empty()) return;
  if (const auto order = standbys_.tell(node, link.generation)) nodes_.send(node, *order);
}

}  // namespace robustrun::supervisor
