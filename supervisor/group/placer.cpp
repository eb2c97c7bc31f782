#include "supervisor/group/placer.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/spares/put_first.h"
#include "topo/spares/replace.h"

namespace robustrun::supervisor {
namespace {

using base::Errc;
using base::fail;
using topo::NodeIndex;

double units(std::int64_t cost) {
  return static_cast<double>(cost) / static_cast<double>(topo::kWhole);
}

std::string cost_in_words(const topo::Cost& cost) {
  return fmt::format("weighted spread {:.4g}", units(cost.worst));
}

// One line per kind of group and level where groups lie apart.
std::vector<std::string> spreads_in_words(const topo::Cluster& cluster, const topo::Score& score) {
  std::vector<std::string> lines;
  for (const topo::Spread& spread : score.spreads) {
    const topo::Level& level = cluster.levels[spread.level];
    if (level.switches.size() < 2) continue;
    const std::string kind(to_string(spread.kind));
    lines.push_back(
        spread.worst == 0
            ? fmt::format("{}: every group lies below one {}", kind, level.name)
            : fmt::format("{}: groups lie below {} {} switches at most, {:.3g} on average", kind,
                          spread.worst, level.name,
                          static_cast<double>(spread.sum) / static_cast<double>(spread.groups)));
  }
  return lines;
}

}  // namespace

PlacementUse placement_use(const PlacementRequest& request) {
  if (!request.enabled) return PlacementUse::kOff;
  return request.rerank == topo::Rerank::kNever ? PlacementUse::kSurvivorsStay
                                                : PlacementUse::kSurvivorsMayMove;
}

Placer::Placer(PlacementRequest request) : request_(std::move(request)) {
  const topo::Cluster& cluster = request_.cluster;
  if (!is_consistent(cluster) || request_.objective.levels.size() != cluster.levels.size()) {
    broken_ = "what is known of the network contradicts itself";
    return;
  }
  by_name_.resize(cluster.nodes.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  std::ranges::sort(by_name_, {},
                    [&](NodeIndex node) -> const std::string& { return cluster.nodes[node].name; });
}

PlacementSolved Placer::solve(const SolvePlacement& question) {
  auto solved = try_to(question);
  if (!solved) solved = PlacementSolved{0, {}, std::move(solved).error().what, {}, {}};
  solved->digest = question.digest;
  return *std::move(solved);
}

base::Result<PlacementSolved> Placer::try_to(const SolvePlacement& question) {
  if (!broken_.empty()) return fail(Errc::kCorrupt, broken_);
  const topo::Problem problem = RR_TRY(problem_of(question));
  PlacementSolved solved;
  if (problem.former.empty()) {
    const topo::Placement placement = RR_TRY(place_freely(problem));
    solved = place_first(placement, problem);
    RR_TRY(take_members(placement.nodes, solved));
    return solved;
  }
  const topo::Replacement replaced =
      RR_TRY(topo::replace(problem, request_.rerank, request_.costs));
  RR_TRY(take_members(replaced.nodes, solved));
  std::uint64_t world = 0;
  for (const NodeIndex node : replaced.nodes) world += request_.cluster.nodes[node].slots;
  if (world > topo::kRanksMax) return fail(Errc::kLimit, "there are too many ranks");
  RR_TRY(resolve(request_.parallel, static_cast<std::uint32_t>(world)));
  solved.text = replaced.why.empty()
                    ? fmt::format("{} nodes have the places they had", replaced.nodes.size())
                    : replaced.why;
  if (replaced.before != topo::Cost{}) {
    solved.evidence.push_back(fmt::format("before: {}; now: {}", cost_in_words(replaced.before),
                                          cost_in_words(replaced.after)));
  }
  return solved;
}

base::Result<topo::Placement> Placer::place_freely(const topo::Problem& problem) const {
  auto placement = RR_TRY(topo::place(problem));
  const auto first = std::ranges::find_if(problem.candidates, [this](NodeIndex node) {
    return request_.cluster.nodes[node].name == request_.first;
  });
  if (first == problem.candidates.end()) return placement;
  return topo::put_first(problem, std::move(placement), *first);
}

// kNoNode: not known.
NodeIndex Placer::find(const PlacementNode& node) const {
  const auto& nodes = request_.cluster.nodes;
  if (node.node.value < nodes.size() && nodes[node.node.value].name == node.name) {
    return node.node.value;
  }
  const auto found = std::ranges::lower_bound(
      by_name_, node.name, {},
      [&](NodeIndex index) -> const std::string& { return nodes[index].name; });
  return found != by_name_.end() && nodes[*found].name == node.name ? *found : topo::kNoNode;
}

base::Result<topo::Problem> Placer::problem_of(const SolvePlacement& question) {
  auto& nodes = request_.cluster.nodes;
  topo::Problem problem;
  problem.cluster = &request_.cluster;
  problem.parallel = request_.parallel;
  problem.objective = request_.objective;
  problem.places = question.places;
  for (const PlacementNode& node : question.former) {
    problem.former.push_back(node.node == kNoNode ? topo::kNoNode : find(node));
    if (problem.former.back() != topo::kNoNode) nodes[problem.former.back()].slots = node.slots;
  }
  node_at_.assign(nodes.size(), kNoNode);
  for (const PlacementNode& node : question.candidates) {
    const NodeIndex index = find(node);
    if (index == topo::kNoNode) {
      return fail(Errc::kNotFound, fmt::format("cannot find {} in {}", base::printable(node.name),
                                               request_.cluster.source));
    }
    if (node_at_[index] != kNoNode) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("there are two nodes named {}", base::printable(node.name)));
    }
    if (node.slots == 0) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{} offers no worker", base::printable(node.name)));
    }
    nodes[index].slots = node.slots;
    node_at_[index] = node.node;
    problem.candidates.push_back(index);
  }
  return problem;
}

base::Status Placer::take_members(const std::vector<NodeIndex>& nodes,
                                  PlacementSolved& solved) const {
  for (const NodeIndex index : nodes) {
    if (index >= node_at_.size()) return fail(Errc::kNotFound, "there is no node for a place");
    solved.members.push_back(node_at_[index]);
  }
  return {};
}

std::string Placer::best_in_words(const topo::Placement& placement) const {
  const double gap = gap_percent(placement);
  return gap == 0 ? "nothing better exists"
                  : fmt::format("at most {:.3g} % above the least there can be", gap);
}

PlacementSolved Placer::place_first(const topo::Placement& placement,
                                    const topo::Problem& problem) const {
  // The nodes have the order that was planned, unless some did not come.
  std::vector<NodeIndex> planned(placement.nodes.size());
  std::iota(planned.begin(), planned.end(), 0);
  const bool as_planned = !request_.how.empty() && placement.nodes == planned;
  std::string cost = cost_in_words(placement.score.cost);
  if (as_planned && request_.natural_cost) {
    cost += fmt::format(" ({:.4g} in natural order)", units(*request_.natural_cost));
  }
  PlacementSolved solved;
  solved.text =
      fmt::format("{} of {} nodes are placed by {}: {}; {}, {}", problem.places,
                  problem.candidates.size(), request_.cluster.source,
                  as_planned ? request_.how : placement.how, cost, best_in_words(placement));
  solved.evidence = spreads_in_words(request_.cluster, placement.score);
  const auto in_order = topo::place_in_order(problem);
  if (in_order && !as_planned) {
    solved.alternatives.push_back(
        fmt::format("in the order of the nodes: {}", cost_in_words(in_order->score.cost)));
  }
  return solved;
}

}  // namespace robustrun::supervisor
