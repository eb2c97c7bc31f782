#include "supervisor/agents/node_table.h"

#include <algorithm>
#include <utility>

#include "wire/messages/limits.h"

namespace robustrun::supervisor {

NodeTable::NodeTable(const std::vector<NodeSpec>& planned) : links_(planned.size()) {
  for (const NodeSpec& node : planned) names_.push_back(node.name);
}

std::optional<base::NodeId> NodeTable::find(std::string_view name) const {
  const auto found = std::ranges::find(names_.rbegin(), names_.rend(), name);
  if (found == names_.rend()) return std::nullopt;
  return base::NodeId{static_cast<std::uint32_t>(names_.rend() - found - 1)};
}

std::optional<base::Rank> NodeTable::rank_of(base::NodeId node, base::LocalRank local_rank) const {
  const auto& ranks = links_[node.value].ranks;
  if (local_rank.value >= ranks.size()) return std::nullopt;
  return ranks[local_rank.value];
}

base::NodeId NodeTable::add(std::string name) {
  names_.push_back(std::move(name));
  links_.emplace_back();
  return base::NodeId{static_cast<std::uint32_t>(links_.size() - 1)};
}

std::vector<std::string> NodeTable::addresses() const {
  std::vector<std::string> all;
  for (const NodeLink& link : links_) {
    if (!link.joined || link.lost) continue;
    if (link.addresses.empty()) return {};
    all.insert(all.end(), link.addresses.begin(), link.addresses.end());
  }
  return all.size() <= wire::kStoreClientsMax ? all : std::vector<std::string>();
}

void NodeTable::adopt(base::NodeId node, std::string name) {
  if (!has(node)) {
    links_.resize(node.value + 1);
    names_.resize(node.value + 1);
  }
  names_[node.value] = std::move(name);
}

void NodeTable::send(base::NodeId node, const wire::Message& message) {
  if (auto& channel = links_[node.value].channel) channel->send(message);
}

void NodeTable::order(base::NodeId node, const wire::Message& message) {
  if (keeps_orders_) links_[node.value].orders.push_back(message);
  send(node, message);
}

void NodeTable::repeat_orders(base::NodeId node, base::Nanos now) {
  const NodeLink& link = links_[node.value];
  if (link.copies) send(node, *link.copies);
  for (wire::Message order : link.orders) {
    if (auto* stop = std::get_if<wire::StopWorkers>(&order)) {
      stop->grace = std::max(base::Nanos{}, link.kill_at - now);
    }
    send(node, order);
  }
}

void NodeTable::pause(base::NodeId node) {
  NodeLink& link = links_[node.value];
  if (!link.channel || link.paused) return;
  link.paused = true;
  link.channel->pause_reading();
}

void NodeTable::resume(base::NodeId node, base::Nanos now) {
  NodeLink& link = links_[node.value];
  if (!link.channel || !link.paused) return;
  link.paused = false;
  link.heard_at = now;
  link.channel->resume_reading();
}

void NodeTable::send_to_group(const wire::Message& message) {
  each([&](base::NodeId node, const NodeLink& link) {
    if (!link.ranks.empty()) send(node, message);
  });
}

}  // namespace robustrun::supervisor
