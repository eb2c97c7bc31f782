// Exchanging two values of one digit of the rank numbers maps whole groups onto whole groups: no
// spread changes. If nodes hold whole values of digits, places have digits, too, and exchanging
// each digit of the wanted place with 0 brings that place to the front. The dense and the experts'
// layout have different digits: the one that keeps the cost is used.

#include "topo/spares/put_first.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace robustrun::topo {
namespace {

using Nodes = std::vector<NodeIndex>;

std::uint64_t size_in(const Parallel& parallel, GroupKind kind, bool experts) {
  switch (kind) {
    case GroupKind::kTp: return parallel.tp;
    case GroupKind::kCp: return experts ? 1 : parallel.cp;
    case GroupKind::kEp: return experts ? parallel.ep : 1;
    case GroupKind::kDp:
      return experts ? std::uint64_t{parallel.dp} * parallel.cp / parallel.ep : parallel.dp;
    case GroupKind::kPp: return parallel.pp;
  }
  return 1;
}

// The digits of a place's number, fastest first; nullopt: nodes end within a value.
std::optional<std::vector<std::uint64_t>> digits_of_places(const Shape& shape, bool experts) {
  const std::uint64_t slots = shape.slots.front();
  if (std::ranges::any_of(shape.slots, [&](std::uint32_t each) { return each != slots; })) {
    return std::nullopt;
  }
  std::vector<std::uint64_t> digits;
  std::uint64_t stride = 1;
  for (const GroupKind kind : shape.parallel.order) {
    const std::uint64_t next = stride * size_in(shape.parallel, kind, experts);
    if (next <= slots) {
      if (slots % next != 0) return std::nullopt;
    } else if (next % slots != 0) {
      return std::nullopt;
    } else {
      digits.push_back(next / std::max(stride, slots));
    }
    stride = next;
  }
  return digits;
}

Nodes exchanged(const Nodes& nodes, const std::vector<std::uint64_t>& digits, std::uint64_t place) {
  Nodes result(nodes.size());
  for (std::uint64_t from = 0; from < nodes.size(); ++from) {
    std::uint64_t to = 0;
    std::uint64_t rest = from;
    std::uint64_t wanted = place;
    std::uint64_t stride = 1;
    for (const std::uint64_t size : digits) {
      const std::uint64_t own = wanted % size;
      std::uint64_t digit = rest % size;
      if (digit == own || digit == 0) digit = own - digit;
      to += digit * stride;
      rest /= size;
      wanted /= size;
      stride *= size;
    }
    result[to] = nodes[from];
  }
  return result;
}

// The level on which two nodes meet.
std::size_t distance(const Cluster& cluster, NodeIndex a, NodeIndex b) {
  std::size_t level = 0;
  while (level < cluster.levels.size() &&
         switch_of(cluster, a, level) != switch_of(cluster, b, level)) {
    ++level;
  }
  return level;
}

// Gives `node` the place of the nearest node, which becomes a spare if `node` was one.
void bring_in(const Cluster& cluster, NodeIndex node, Placement& placement) {
  const auto rank = [&](NodeIndex other) {
    const bool unequal = cluster.nodes[other].slots != cluster.nodes[node].slots;
    return std::pair(unequal, distance(cluster, node, other));
  };
  const auto place = std::ranges::min_element(placement.nodes, {}, rank);
  std::ranges::replace(placement.spares, node, *place);
  *place = node;
}

}  // namespace

base::Result<Placement> put_first(const Problem& problem, Placement placement, NodeIndex node) {
  const Cluster& cluster = *problem.cluster;
  RR_ASSERT(!placement.nodes.empty() && node < cluster.nodes.size());
  if (placement.nodes.front() == node) return placement;
  if (std::ranges::find(placement.nodes, node) == placement.nodes.end()) {
    bring_in(cluster, node, placement);
  }
  const auto held =
      static_cast<std::size_t>(std::ranges::find(placement.nodes, node) - placement.nodes.begin());
  std::vector<Nodes> ways;
  for (const bool experts : {false, true}) {
    if (const auto digits = digits_of_places(placement.shape, experts)) {
      ways.push_back(exchanged(placement.nodes, *digits, held));
    }
  }
  Nodes& swapped = ways.emplace_back(placement.nodes);
  std::swap(swapped.front(), swapped[held]);
  std::optional<Placement> best;
  for (Nodes& nodes : ways) {
    Placement one = placement;
    one.nodes = std::move(nodes);
    std::vector<std::uint32_t> slots;
    for (const NodeIndex each : one.nodes) slots.push_back(std::max(1U, cluster.nodes[each].slots));
    one.shape = RR_TRY(make_shape(problem.parallel, std::move(slots)));
    one.score = score(cluster, one.shape, problem.objective, one.nodes);
    if (!best || one.score.cost < best->score.cost) best = std::move(one);
  }
  RR_ASSERT(best->nodes.front() == node);
  if (best->score.cost.worst > best->bound.worst) best->method = Method::kHeuristic;
  best->how += "; then numbered such that " + cluster.nodes[node].name + " is first";
  return *std::move(best);
}

}  // namespace robustrun::topo
