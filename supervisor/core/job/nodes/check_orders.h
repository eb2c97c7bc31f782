#pragma once
// Orders to check nodes, and which parts of an answer still count. Part of the job's memory.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/types/actions.h"

namespace robustrun::supervisor {

class CheckOrders {
 public:
  explicit CheckOrders(const Nodes& nodes) : nodes_(nodes) {}

  // The next order. The caller gives it to Orders.
  [[nodiscard]] CheckNodes order(std::vector<base::NodeId> nodes, PreflightDepth depth) {
    CheckNodes order{++newest_,
                     depth == PreflightDepth::kFull,
                     std::move(nodes),
                     {},
                     depth == PreflightDepth::kGpu};
    for (const base::NodeId node : order.nodes) order.addresses.push_back(nodes_.at(node).address);
    return order;
  }
  // Number of the newest order; 0: none.
  [[nodiscard]] std::uint64_t newest() const { return newest_; }

  // The answers of nodes for which `counts` is true and whose agent is still the one that was
  // asked.
  template <class Counts>
  [[nodiscard]] NodesChecked current_part(const NodesChecked& result, const Counts& counts) const {
    const auto is_current = [&](const NodeCheck& answer) {
      return answer.node.value < nodes_.size() &&
             nodes_.at(answer.node).generation == answer.generation &&
             nodes_.at(answer.node).agent == NodeState::Agent::kJoined && counts(answer.node);
    };
    NodesChecked part{result.check, result.full, result.took, result.partners, {}};
    part.nodes.reserve(static_cast<std::size_t>(std::ranges::count_if(result.nodes, is_current)));
    std::ranges::copy_if(result.nodes, std::back_inserter(part.nodes), is_current);
    return part;
  }

  template <class V>
  void fields(V& v) {
    v(35, "check", newest_);
  }

 private:
  const Nodes& nodes_;
  std::uint64_t newest_ = 0;
};

}  // namespace robustrun::supervisor
