#include "supervisor/core/job/facts/nodes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/name_ranges.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

void Nodes::add(const NodeSpec& of) {
  not_there_.insert({static_cast<std::uint32_t>(nodes_.size())});
  NodeState& node = nodes_.emplace_back();
  node.address = of.address;
  node.slots = of.slots;
}

base::NodeId Nodes::add_volunteer(const NodeSpec& of) {
  spec_.nodes.push_back(of);
  spec_.nodes.back().volunteer = true;
  add(of);
  return {static_cast<std::uint32_t>(nodes_.size() - 1)};
}

std::string Nodes::names(const std::vector<base::NodeId>& nodes) const {
  std::vector<std::string> all;
  all.reserve(nodes.size());
  for (const base::NodeId node : nodes) all.push_back(name(node));
  std::string text = base::name_ranges(all);
  if (text.size() <= kNodeNamesBytesMax || nodes.size() == 1) return text;
  return fmt::format("{} and {} more", all.front(), nodes.size() - 1);
}

void Nodes::set_presence(NodeState& node, Agent agent, bool unfit) {
  count(node, false);
  node.agent = agent;
  node.unfit = unfit;
  count(node, true);
}

void Nodes::set_leaving(NodeState& node, bool leaving) {
  count(node, false);
  node.leaving = leaving;
  count(node, true);
}

void Nodes::count(const NodeState& node, bool is_new) {
  if (is_new && node.is_there()) not_there_.erase(id_of(node));
  if (is_new && !node.is_there()) not_there_.insert(id_of(node));
  if (!node.may_work() || node.agent == Agent::kLost) return;
  std::uint32_t& count = node.is_there() ? there_ : coming_;
  count = is_new ? count + 1 : count - 1;
}

std::uint32_t Nodes::max_wanted() const {
  const auto known = static_cast<std::uint32_t>(spec_.nodes.size());
  if (spec_.group.max_nodes == 0) return known;
  return spec_.group.open ? spec_.group.max_nodes : std::min(spec_.group.max_nodes, known);
}

std::uint32_t Nodes::min_wanted() const {
  return spec_.group.min_nodes == 0 ? max_wanted() : std::min(spec_.group.min_nodes, max_wanted());
}

std::size_t count_recent(std::vector<base::Nanos>& moments, base::Nanos within, base::Nanos now) {
  std::erase_if(moments, [&](base::Nanos at) { return at + within < now; });
  moments.push_back(now);
  return moments.size();
}

}  // namespace robustrun::supervisor
