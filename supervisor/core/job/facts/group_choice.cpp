#include "supervisor/core/job/facts/group_choice.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/core/result.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

// Nodes that have joined and have no place, the most reliable last.
class Reserve {
 public:
  Reserve(const std::vector<base::NodeId>& former, const std::vector<Candidate>& nodes)
      : nodes_(nodes) {
    std::vector<bool> has_place(nodes.size(), false);
    for (const base::NodeId node : former) has_place[node.value] = true;
    for (std::uint32_t i = static_cast<std::uint32_t>(nodes.size()); i-- > 0;) {
      if (!has_place[i] && nodes[i].presence == Presence::kThere) free_.push_back(base::NodeId{i});
    }
    const auto losses = [&](base::NodeId node) { return nodes_[node.value].losses; };
    if (!std::ranges::is_sorted(free_, std::greater{}, losses)) {
      std::ranges::stable_sort(free_, std::greater{}, losses);
    }
  }

  std::optional<base::NodeId> take(std::uint32_t slots) {
    if (free_.empty()) return std::nullopt;
    const auto fits = std::find_if(free_.rbegin(), free_.rend(), [&](base::NodeId node) {
      return nodes_[node.value].slots == slots;
    });
    const auto best = fits == free_.rend() ? free_.end() - 1 : fits.base() - 1;
    const base::NodeId node = *best;
    free_.erase(best);
    return node;
  }

 private:
  const std::vector<Candidate>& nodes_;
  std::vector<base::NodeId> free_;
};

}  // namespace

GroupChoice choose_group(const std::vector<base::NodeId>& former,
                         const std::vector<Candidate>& nodes, std::uint32_t max_nodes) {
  RR_ASSERT(max_nodes > 0);
  GroupChoice choice;
  const std::size_t places = std::min<std::size_t>(max_nodes, nodes.size());
  choice.members.reserve(places);
  choice.holders.reserve(places);
  for (const base::NodeId node : former) {
    const Candidate& holder = nodes[node.value];
    const bool deserves_it = holder.losses <= kAgentLossesForgiven;
    choice.rightful_coming =
        choice.rightful_coming || (holder.presence == Presence::kComing && deserves_it);
  }
  choice.any_coming =
      std::ranges::find(nodes, Presence::kComing, &Candidate::presence) != nodes.end();

  Reserve reserve(former, nodes);
  const auto add_newcomer = [&](base::NodeId holder, std::uint32_t slots) {
    const auto node = reserve.take(slots);
    if (!node) return false;
    choice.members.push_back(*node);
    choice.newcomers.push_back(*node);
    choice.holders.push_back(holder);
    return true;
  };
  for (const base::NodeId node : former) {
    if (choice.members.size() == max_nodes) break;
    if (nodes[node.value].presence == Presence::kThere) {
      choice.members.push_back(node);
      choice.holders.push_back(node);
    } else {
      add_newcomer(node, nodes[node.value].slots);
    }
  }
  while (choice.members.size() < max_nodes) {
    if (!add_newcomer(kNoNode, 0)) break;
  }
  return choice;
}

}  // namespace robustrun::supervisor
