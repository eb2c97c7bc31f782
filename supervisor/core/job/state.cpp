#include "supervisor/core/job/state.h"

#include <algorithm>

#include "base/core/words.h"

namespace robustrun::supervisor {

const std::string& JobMemory::name(base::NodeId node) const { return spec.nodes[node.value].name; }

std::string JobMemory::workers_in_words() const {
  return base::counted(plan.world_size(), "worker") + " on " + base::counted(group.size(), "node");
}

NodeState& JobMemory::add_node(const NodeSpec& of) {
  not_there.insert({static_cast<std::uint32_t>(nodes.size())});
  NodeState& node = nodes.emplace_back();
  node.address = of.address;
  node.slots = of.slots;
  return node;
}

void JobMemory::set_presence(NodeState& node, NodeState::Agent agent, bool unfit) {
  count_presence(node, false);
  node.agent = agent;
  node.unfit = unfit;
  count_presence(node, true);
}

void JobMemory::set_leaving(NodeState& node, bool leaving) {
  count_presence(node, false);
  node.leaving = leaving;
  count_presence(node, true);
}

void JobMemory::count_presence(const NodeState& node, bool is_new) {
  const base::NodeId id{static_cast<std::uint32_t>(&node - nodes.data())};
  const bool is_there = node.may_work() && node.agent == NodeState::Agent::kJoined;
  if (is_new && is_there) not_there.erase(id);
  if (is_new && !is_there) not_there.insert(id);
  if (!node.may_work() || node.agent == NodeState::Agent::kLost) return;
  std::uint32_t& count = is_there ? nodes_there : nodes_coming;
  count = is_new ? count + 1 : count - 1;
}

bool JobMemory::in_group(base::NodeId node) const {
  return std::ranges::find(group, node) != group.end();
}

std::vector<bool> JobMemory::group_membership() const {
  std::vector<bool> is_member(nodes.size(), false);
  for (const base::NodeId node : group) is_member[node.value] = true;
  return is_member;
}

std::uint32_t JobMemory::max_nodes() const {
  const auto known = static_cast<std::uint32_t>(spec.nodes.size());
  if (spec.group.max_nodes == 0) return known;
  return spec.group.open ? spec.group.max_nodes : std::min(spec.group.max_nodes, known);
}

std::uint32_t JobMemory::min_nodes() const {
  return spec.group.min_nodes == 0 ? max_nodes() : std::min(spec.group.min_nodes, max_nodes());
}

bool JobMemory::workers_may_run() const {
  return state == JobState::kStarting || state == JobState::kRunning ||
         state == JobState::kStopping;
}

std::uint32_t JobMemory::alive_workers() const {
  std::uint32_t alive = 0;
  for (std::uint32_t rank = 0; rank < workers.size(); ++rank) {
    if (workers[rank] != WorkerState::kEnded && !at(plan.node_of[rank]).gone) ++alive;
  }
  return alive;
}

std::int64_t JobMemory::unix_seconds(base::Nanos at) const {
  return std::chrono::floor<std::chrono::seconds>(wall_time + (at - started_at)).count();
}

}  // namespace robustrun::supervisor
