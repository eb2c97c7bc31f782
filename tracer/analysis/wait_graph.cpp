#include "tracer/analysis/wait_graph.h"

#include <algorithm>
#include <optional>

#include "base/core/result.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/wait_edges.h"

namespace robustrun::tracer {

class GraphBuilder {
 public:
  GraphBuilder(const FleetView& view, const std::vector<bool>& elsewhere)
      : view_(view), elsewhere_(elsewhere), from_(wait_edges(view)) {}

  WaitGraph build() {
    graph_.ranks_ = view_.rank_count();
    graph_.waits_ = std::move(from_.waits);
    settle();
    find_sinks();
    return std::move(graph_);
  }

 private:
  [[nodiscard]] bool is_missed(std::uint32_t at) const {
    for (const MemberAt where : view_.memberships(at)) {
      const Member& member = view_.member(where);
      const bool waited = from_.member_waited[where.comm][where.member] >= base::Nanos{0};
      if (waited && member.counts && member.place == Place::kAbsent) return true;
    }
    return std::ranges::binary_search(from_.peer_blames, at, {}, &Blame::at);
  }

  // A rank that is elsewhere and missed waits for no rank, whatever it began before; nor does a
  // rank that is behind.
  void settle() {
    for (std::uint32_t at = 0; at < view_.rank_count(); ++at) {
      if (elsewhere_[at] && is_missed(at)) from_.inside[at] = false;
    }
    std::erase_if(from_.edges, [&](const WaitEdges::Edge& e) {
      if (e.from >= view_.rank_count()) return false;
      return from_.behind[e.from] || (elsewhere_[e.from] && !from_.inside[e.from]);
    });
    std::ranges::sort(from_.edges);
    Successors& to = graph_.edges_;
    to.first.assign(from_.nodes + 1, 0);
    for (const WaitEdges::Edge& edge : from_.edges) ++to.first[edge.from + 1];
    for (std::uint32_t v = 0; v < from_.nodes; ++v) to.first[v + 1] += to.first[v];
    for (const WaitEdges::Edge& edge : from_.edges) to.targets.push_back(edge.to);
  }

  [[nodiscard]] bool has_successors(std::uint32_t v) const {
    return graph_.edges_.first[v] < graph_.edges_.first[v + 1];
  }

  void find_sinks() {
    const std::vector<std::uint32_t> component = components(graph_.edges_);
    const std::vector<base::Nanos> weight = weights(component);
    // At rest no rank is merely late: ages show only the order in which ranks came to rest.
    const base::Nanos least =
        view_.fleet().at_rest ? base::Nanos{} : graph_.longest_wait() / kShareOfLongestWait;
    const auto counts = [&](std::uint32_t v) { return weight[component[v]] >= least; };
    for (std::uint32_t at = 0; at < view_.rank_count(); ++at) {
      const bool is_waited = from_.waited[at] >= base::Nanos{0} || from_.behind[at];
      if (!is_waited || has_successors(at)) continue;
      if (is_out(view_, at) || from_.behind[at] || counts(at))
        graph_.blames_.push_back(blame_of(at));
    }
    for (std::uint32_t c = 0; c < view_.comms().size(); ++c) {
      const std::uint32_t node = unseen_node(view_, c);
      if (from_.waited[node] >= base::Nanos{0} && counts(node)) graph_.unseen_.push_back(c);
    }
    find_knots(component, [&](std::uint32_t v) { return counts(v); });
  }

  // For each component, the longest wait that leads to it over any number of edges.
  [[nodiscard]] std::vector<base::Nanos> weights(
      const std::vector<std::uint32_t>& component) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // (component, node), sources first
    std::vector<base::Nanos> weight(from_.nodes, kNoWait);
    for (std::uint32_t v = 0; v < from_.nodes; ++v) {
      order.push_back({component[v], v});
      weight[component[v]] = std::max(weight[component[v]], from_.waited[v]);
    }
    std::ranges::sort(order, std::greater{});
    for (const auto& [from, v] : order) {
      for (std::uint32_t i = graph_.edges_.first[v]; i < graph_.edges_.first[v + 1]; ++i) {
        base::Nanos& to = weight[component[graph_.edges_.targets[i]]];
        to = std::max(to, weight[from]);
      }
    }
    return weight;
  }

  template <class Counts>
  void find_knots(const std::vector<std::uint32_t>& component, const Counts& counts) {
    std::vector<std::uint32_t> ranks(from_.nodes, 0);
    std::vector<bool> has_exit(from_.nodes, false);
    for (std::uint32_t at = 0; at < view_.rank_count(); ++at) ++ranks[component[at]];
    for (const WaitEdges::Edge& edge : from_.edges) {
      if (component[edge.from] != component[edge.to]) has_exit[component[edge.from]] = true;
    }
    std::vector<std::uint32_t> knot_of(from_.nodes, 0);  // 1 more than its place in knots_
    for (std::uint32_t at = 0; at < view_.rank_count(); ++at) {
      const std::uint32_t c = component[at];
      if (ranks[c] < 2 || has_exit[c] || !counts(at)) continue;
      if (knot_of[c] == 0) {
        graph_.knots_.emplace_back();
        knot_of[c] = static_cast<std::uint32_t>(graph_.knots_.size());
      }
      graph_.knots_[knot_of[c] - 1].push_back(at);
    }
  }

  [[nodiscard]] Blame blame_of(std::uint32_t at) const {
    Blame worst;
    worst.at = at;
    worst.guilt = from_.inside[at] ? Guilt::kOccupied : Guilt::kAbsent;
    worst.age = kNoWait;
    for (const MemberAt where : view_.memberships(at)) {
      const Member& member = view_.member(where);
      const base::Nanos age = from_.member_waited[where.comm][where.member];
      const std::optional<Guilt> guilt =
          guilt_in(view_.comms()[where.comm], member, age >= base::Nanos{0});
      if (!guilt || std::pair(*guilt, -age) >= std::pair(worst.guilt, -worst.age)) continue;
      worst.guilt = *guilt;
      worst.comm = where.comm;
      worst.ordinal = member.counts ? member.ordinal : from_.head[where.comm];
      worst.age = *guilt == Guilt::kQueued ? std::max(age, from_.waited[at]) : age;
      // It is behind in an operation of its own, even if no rank waits for it.
      if (*guilt == Guilt::kBehind && from_.behind[at]) worst.age = std::max(age, member.age);
    }
    const auto peer = std::ranges::lower_bound(from_.peer_blames, at, {}, &Blame::at);
    const bool is_missed_by_peer = peer != from_.peer_blames.end() && peer->at == at;
    if (is_missed_by_peer && worst.guilt >= Guilt::kAbsent && peer->age > worst.age) {
      // Launched but not reached: if the rank waits for no other, its own GPU is the cause.
      const bool is_queued = peer->guilt == Guilt::kQueued && !from_.waits_itself[at];
      const Guilt guilt = is_queued ? Guilt::kQueued : worst.guilt;
      worst = *peer;
      worst.guilt = guilt;
    }
    const auto behind = std::ranges::lower_bound(from_.behind_blames, at, {}, &Blame::at);
    const bool is_behind = behind != from_.behind_blames.end() && behind->at == at;
    if (is_behind && from_.inside[at] && worst.guilt != Guilt::kBehind) worst = *behind;
    if (is_out(view_, at)) worst.guilt = view_.is_dead(at) ? Guilt::kDead : Guilt::kStopped;
    return worst;
  }

  // Why the member is to blame in this communicator; none: no rank waits for it, and its own GPU is
  // not blocked.
  [[nodiscard]] std::optional<Guilt> guilt_in(const Communicator& comm, const Member& member,
                                              bool is_waited) const {
    const bool is_free = !from_.inside[member.at];  // inside no operation, or proven elsewhere
    if (is_out(view_, member.at) || !member.counts) {
      return is_waited ? std::optional(Guilt::kAbsent) : std::nullopt;
    }
    if (member.place == Place::kAbsent) {
      if (!is_waited) return std::nullopt;
      return is_free ? Guilt::kAbsent : Guilt::kOccupied;
    }
    if (is_free) return std::nullopt;
    if (from_.behind[member.at] && is_behind(view_, comm, member)) return Guilt::kBehind;
    // A GPU inside an older operation rightly does not reach the next one.
    if (member.place == Place::kQueued && !from_.waits_itself[member.at]) return Guilt::kQueued;
    if (!is_waited) return std::nullopt;
    if (member.place == Place::kQueued) return Guilt::kOccupied;
    return member.place == Place::kRunning ? Guilt::kBehind : Guilt::kCalled;
  }

  const FleetView& view_;
  const std::vector<bool>& elsewhere_;
  WaitEdges from_;
  WaitGraph graph_;
};

WaitGraph WaitGraph::of(const FleetView& view, const std::vector<bool>& elsewhere) {
  RR_ASSERT(elsewhere.size() == view.rank_count());
  return GraphBuilder(view, elsewhere).build();
}

base::Nanos WaitGraph::longest_wait() const {
  return waits_.empty() ? base::Nanos{0} : waits_.front().age;
}

std::vector<std::uint32_t> WaitGraph::victims_of(const std::vector<std::uint32_t>& culprits) const {
  const auto nodes = static_cast<std::uint32_t>(edges_.first.size() - 1);
  Successors back;  // predecessors
  back.first.assign(nodes + 1, 0);
  for (const std::uint32_t to : edges_.targets) ++back.first[to + 1];
  for (std::uint32_t v = 0; v < nodes; ++v) back.first[v + 1] += back.first[v];
  back.targets.resize(edges_.targets.size());
  std::vector<std::uint32_t> next(back.first.begin(), back.first.end() - 1);
  for (std::uint32_t v = 0; v < nodes; ++v) {
    for (std::uint32_t i = edges_.first[v]; i < edges_.first[v + 1]; ++i) {
      back.targets[next[edges_.targets[i]]++] = v;
    }
  }
  std::vector<bool> seen(nodes, false);
  std::vector<std::uint32_t> open = culprits;
  for (const std::uint32_t at : culprits) seen[at] = true;
  std::vector<std::uint32_t> victims;
  while (!open.empty()) {
    const std::uint32_t v = open.back();
    open.pop_back();
    for (std::uint32_t i = back.first[v]; i < back.first[v + 1]; ++i) {
      const std::uint32_t from = back.targets[i];
      if (seen[from]) continue;
      seen[from] = true;
      open.push_back(from);
      if (from < ranks_) victims.push_back(from);
    }
  }
  std::ranges::sort(victims);
  return victims;
}

}  // namespace robustrun::tracer
