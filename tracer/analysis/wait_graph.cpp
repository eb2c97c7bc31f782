#include "tracer/analysis/wait_graph.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/core/result.h"
#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

constexpr base::Nanos kNobody{-1};

// How far a member is in its communicator: nobody waits for those who are as far or further.
using Distance = std::pair<std::uint64_t, std::uint8_t>;

Distance distance_of(const Member& member) {
  switch (member.place) {
    case Place::kAbsent: return {member.ordinal, 0};
    case Place::kCalled:
    case Place::kQueued: return {member.ordinal, 1};
    case Place::kRunning: break;
  }
  return {member.ordinal, 2};
}

bool is_inside(const Member& member) {
  return member.place == Place::kRunning || member.place == Place::kCalled;
}

const Operation* find_pending(const Membership& view, const PeerCount& count) {
  const OpKind kind = count.is_send ? OpKind::kSend : OpKind::kRecv;
  for (const Operation& operation : view.pending) {
    const Signature& signature = operation.signature;
    if (signature.kind == kind && signature.root == count.peer) return &operation;
  }
  return nullptr;
}

bool is_held_by_gpu(const Operation* operation) {
  return operation != nullptr && (operation->stage == Operation::Stage::kQueued ||
                                  operation->stage == Operation::Stage::kLaunching);
}

}  // namespace

class GraphBuilder {
 public:
  GraphBuilder(const FleetView& view, const std::vector<bool>& elsewhere)
      : view_(view),
        elsewhere_(elsewhere),
        nodes_(view.rank_count() + static_cast<std::uint32_t>(view.comms().size())),
        waited_(nodes_, kNobody),
        inside_(view.rank_count(), false) {
    member_waited_.resize(view.comms().size());
    head_.resize(view.comms().size(), 0);
  }

  WaitGraph build() {
    for (std::uint32_t c = 0; c < view_.comms().size(); ++c) {
      add_collectives(c);
      add_peers(c);
    }
    std::ranges::sort(peer_blames_, {}, [](const Blame& b) { return std::pair(b.at, -b.age); });
    settle();
    find_sinks();
    const auto order = [](const Wait& w) { return std::tuple(-w.age, w.comm, w.at); };
    std::ranges::sort(graph_.waits_, {}, order);
    graph_.ranks_ = view_.rank_count();
    return std::move(graph_);
  }

 private:
  struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };

  [[nodiscard]] bool is_out(std::uint32_t at) const {
    return view_.is_dead(at) || view_.is_stopped(at);
  }

  std::uint32_t unseen_node(std::uint32_t c) const { return view_.rank_count() + c; }

  void wait_for(std::uint32_t node, base::Nanos age) {
    waited_[node] = std::max(waited_[node], age);
  }

  void add_collectives(std::uint32_t c) {
    const Communicator& comm = view_.comms()[c];
    member_waited_[c].assign(comm.members.size(), kNobody);
    std::vector<std::pair<Distance, std::uint32_t>> order;  // of those whose progress is known
    std::uint32_t unseen = comm.uncounted;
    for (std::uint32_t m = 0; m < comm.members.size(); ++m) {
      const Member& member = comm.members[m];
      if (is_out(member.at)) {
        order.push_back({Distance{0, 0}, m});
        if (!member.counts) --unseen;
      } else if (member.counts) {
        order.push_back({distance_of(member), m});
      }
    }
    std::ranges::sort(order);
    const auto waiting = [&](const auto& o) {
      const Member& member = comm.members[o.second];
      return member.counts && is_inside(member) && !is_out(member.at);
    };
    if (std::ranges::none_of(order, waiting)) return;
    add_tiers(c, order, unseen > 0);
  }

  // Members of equal distance are a tier; node `below` of a tier leads to everybody in lower ones.
  void add_tiers(std::uint32_t c, const std::vector<std::pair<Distance, std::uint32_t>>& order,
                 bool has_unseen) {
    const Communicator& comm = view_.comms()[c];
    bool is_lowest = true;
    std::uint32_t below = 0;
    std::vector<std::uint32_t> below_of;  // node per tier, for the pass from above
    for (std::size_t begin = 0; begin < order.size();) {
      std::size_t end = begin;
      base::Nanos longest = kNobody;
      for (; end < order.size() && order[end].first == order[begin].first; ++end) {
        const Member& member = comm.members[order[end].second];
        if (is_out(member.at)) continue;
        if (member.place != Place::kAbsent) inside_[member.at] = true;
        if (!is_inside(member)) continue;
        add_wait(c, member, !is_lowest);
        longest = std::max(longest, member.age);
        if (!is_lowest) edges_.push_back({member.at, below});
        if (!has_unseen) continue;
        edges_.push_back({member.at, unseen_node(c)});
        wait_for(unseen_node(c), member.age);
      }
      if (!is_lowest) wait_for(below, longest);
      below_of.push_back(below);
      const std::uint32_t above = nodes_++;
      waited_.push_back(kNobody);
      for (std::size_t i = begin; i < end; ++i) {
        edges_.push_back({above, comm.members[order[i].second].at});
      }
      if (!is_lowest) edges_.push_back({above, below});
      below = above;
      is_lowest = false;
      begin = end;
    }
    spread_ages(c, order, below_of);
  }

  // Who is below a tier is waited for as long as any tier above has been waiting.
  void spread_ages(std::uint32_t c, const std::vector<std::pair<Distance, std::uint32_t>>& order,
                   const std::vector<std::uint32_t>& below_of) {
    const Communicator& comm = view_.comms()[c];
    base::Nanos longest = kNobody;
    std::size_t tier = below_of.size();
    for (std::size_t i = order.size(); i-- > 0;) {
      const bool is_new = i + 1 == order.size() || order[i].first != order[i + 1].first;
      if (is_new) {
        if (tier < below_of.size() && tier > 0) {
          longest = std::max(longest, waited_[below_of[tier]]);
        }
        --tier;
      }
      member_waited_[c][order[i].second] = longest;
      if (longest >= base::Nanos{0}) wait_for(comm.members[order[i].second].at, longest);
    }
  }

  void add_wait(std::uint32_t c, const Member& member, bool has_edges) {
    Wait wait;
    wait.at = member.at;
    wait.comm = c;
    wait.ordinal = member.ordinal;
    wait.age = member.age;
    if (member.pending != nullptr) wait.signature = member.pending->signature;
    wait.has_edges = has_edges;
    if (head_[c] == 0 || member.ordinal < head_[c]) head_[c] = member.ordinal;
    graph_.waits_.push_back(wait);
  }

  struct Entered {  // sends or receives of one member
    std::uint32_t member = 0;
    std::int32_t peer = -1;
    bool is_send = false;
    std::uint64_t count = 0;
    [[nodiscard]] auto key() const { return std::tuple(member, peer, is_send); }
  };

  void add_peers(std::uint32_t c) {
    const Communicator& comm = view_.comms()[c];
    std::vector<Entered> entered;
    bool is_waiting = false;
    for (std::uint32_t m = 0; m < comm.members.size(); ++m) {
      for (const PeerCount& count : comm.members[m].view->peers) {
        entered.push_back({m, count.peer, count.is_send, count.entered});
        is_waiting |= count.entered > count.done;
      }
    }
    if (!is_waiting) return;
    std::ranges::sort(entered, {}, &Entered::key);
    for (std::uint32_t m = 0; m < comm.members.size(); ++m) {
      const Member& member = comm.members[m];
      if (!member.counts || is_out(member.at)) continue;
      for (const PeerCount& count : member.view->peers) {
        const bool is_own = count.peer == static_cast<std::int32_t>(member.view->rank);
        if (count.entered > count.done && !is_own) add_peer_wait(c, member, count, entered);
      }
    }
  }

  void add_peer_wait(std::uint32_t c, const Member& member, const PeerCount& count,
                     const std::vector<Entered>& entered) {
    inside_[member.at] = true;
    const Operation* const pending = find_pending(*member.view, count);
    if (is_held_by_gpu(pending)) return;
    const Communicator& comm = view_.comms()[c];
    Wait wait;
    wait.at = member.at;
    wait.comm = c;
    wait.ordinal = count.done + 1;
    wait.peer = count.peer;
    wait.signature.kind = count.is_send ? OpKind::kSend : OpKind::kRecv;
    if (pending != nullptr) {
      wait.signature = pending->signature;
      wait.age = std::max(pending->age, base::Nanos{0});
    }
    const Member* const peer = comm.find(count.peer);
    if (peer == nullptr || (!peer->counts && !is_out(peer->at))) {
      edges_.push_back({member.at, unseen_node(c)});
      wait_for(unseen_node(c), wait.age);
    } else if (is_out(peer->at) || !has_entered(comm, *peer, member, count, entered)) {
      wait.has_edges = true;
      edges_.push_back({member.at, peer->at});
      wait_for(peer->at, wait.age);
      Blame blame;
      blame.at = peer->at;
      blame.comm = c;
      blame.ordinal = wait.ordinal;
      blame.age = wait.age;
      blame.signature = wait.signature;
      blame.signature.kind = count.is_send ? OpKind::kRecv : OpKind::kSend;
      blame.signature.root = static_cast<std::int32_t>(member.view->rank);
      peer_blames_.push_back(blame);
    }
    graph_.waits_.push_back(wait);
  }

  // The k-th send from r to s belongs to the k-th receive of s from r.
  static bool has_entered(const Communicator& comm, const Member& peer, const Member& member,
                          const PeerCount& count, const std::vector<Entered>& entered) {
    const auto index = static_cast<std::uint32_t>(&peer - comm.members.data());
    const std::tuple key(index, static_cast<std::int32_t>(member.view->rank), !count.is_send);
    const auto found = std::ranges::lower_bound(entered, key, {}, &Entered::key);
    return found != entered.end() && found->key() == key && found->count > count.done;
  }

  [[nodiscard]] bool is_missed(std::uint32_t at) const {
    for (const MemberAt where : view_.memberships(at)) {
      const Member& member = view_.member(where);
      const bool waited = member_waited_[where.comm][where.member] >= base::Nanos{0};
      if (waited && member.counts && member.place == Place::kAbsent) return true;
    }
    return std::ranges::binary_search(peer_blames_, at, {}, &Blame::at);
  }

  // Who is elsewhere and missed waits for nobody, whatever it has begun before.
  void settle() {
    for (std::uint32_t at = 0; at < view_.rank_count(); ++at) {
      if (elsewhere_[at] && is_missed(at)) inside_[at] = false;
    }
    std::erase_if(edges_, [&](const Edge& e) {
      return e.from < view_.rank_count() && elsewhere_[e.from] && !inside_[e.from];
    });
    std::ranges::sort(edges_);
    Successors& to = graph_.edges_;
    to.first.assign(nodes_ + 1, 0);
    for (const Edge& edge : edges_) ++to.first[edge.from + 1];
    for (std::uint32_t v = 0; v < nodes_; ++v) to.first[v + 1] += to.first[v];
    for (const Edge& edge : edges_) to.targets.push_back(edge.to);
  }

  [[nodiscard]] bool has_successors(std::uint32_t v) const {
    return graph_.edges_.first[v] < graph_.edges_.first[v + 1];
  }

  void find_sinks() {
    const std::vector<std::uint32_t> component = components(graph_.edges_);
    const std::vector<base::Nanos> weight = weights(component);
    const base::Nanos longest = longest_of(graph_.waits_);
    const auto counts = [&](std::uint32_t v) {
      return weight[component[v]] * kShareOfLongestWait >= longest;
    };
    for (std::uint32_t at = 0; at < view_.rank_count(); ++at) {
      if (waited_[at] < base::Nanos{0} || has_successors(at)) continue;
      if (is_out(at) || counts(at)) graph_.blames_.push_back(blame_of(at));
    }
    for (std::uint32_t c = 0; c < view_.comms().size(); ++c) {
      const std::uint32_t node = unseen_node(c);
      if (waited_[node] >= base::Nanos{0} && counts(node)) graph_.unseen_.push_back(c);
    }
    find_knots(component, [&](std::uint32_t v) { return counts(v); });
  }

  static base::Nanos longest_of(const std::vector<Wait>& waits) {
    base::Nanos longest{0};
    for (const Wait& wait : waits) longest = std::max(longest, wait.age);
    return longest;
  }

  // Of each component: the longest wait that leads to it, over any number of edges.
  [[nodiscard]] std::vector<base::Nanos> weights(
      const std::vector<std::uint32_t>& component) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // component, node; sources first
    std::vector<base::Nanos> weight(nodes_, kNobody);
    for (std::uint32_t v = 0; v < nodes_; ++v) {
      order.push_back({component[v], v});
      weight[component[v]] = std::max(weight[component[v]], waited_[v]);
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
    std::vector<std::uint32_t> ranks(nodes_, 0);
    std::vector<bool> has_exit(nodes_, false);
    for (std::uint32_t at = 0; at < view_.rank_count(); ++at) ++ranks[component[at]];
    for (const Edge& edge : edges_) {
      if (component[edge.from] != component[edge.to]) has_exit[component[edge.from]] = true;
    }
    std::vector<std::uint32_t> knot_of(nodes_, 0);  // 1 more than its place in knots_
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
    worst.guilt = inside_[at] ? Guilt::kOccupied : Guilt::kAbsent;
    worst.age = kNobody;
    for (const MemberAt where : view_.memberships(at)) {
      const Member& member = view_.member(where);
      const base::Nanos age = member_waited_[where.comm][where.member];
      const std::optional<Guilt> guilt = guilt_in(member, age >= base::Nanos{0});
      if (!guilt || std::pair(*guilt, -age) >= std::pair(worst.guilt, -worst.age)) continue;
      worst.guilt = *guilt;
      worst.comm = where.comm;
      worst.ordinal = member.counts ? member.ordinal : head_[where.comm];
      worst.age = age;
    }
    const auto peer = std::ranges::lower_bound(peer_blames_, at, {}, &Blame::at);
    const bool is_missed_by_peer = peer != peer_blames_.end() && peer->at == at;
    if (is_missed_by_peer && worst.guilt >= Guilt::kAbsent && peer->age > worst.age) {
      const Guilt guilt = worst.guilt;
      worst = *peer;
      worst.guilt = guilt;
    }
    if (is_out(at)) worst.guilt = view_.is_dead(at) ? Guilt::kDead : Guilt::kStopped;
    return worst;
  }

  // None: nothing that anybody waits for, nor anything that holds its own GPU up.
  [[nodiscard]] std::optional<Guilt> guilt_in(const Member& member, bool is_waited) const {
    const bool is_free = !inside_[member.at];  // or its stack proves that it is elsewhere
    if (is_out(member.at) || !member.counts) {
      return is_waited ? std::optional(Guilt::kAbsent) : std::nullopt;
    }
    if (member.place == Place::kAbsent) {
      if (!is_waited) return std::nullopt;
      return is_free ? Guilt::kAbsent : Guilt::kOccupied;
    }
    if (is_free) return std::nullopt;
    if (member.place == Place::kQueued) return Guilt::kQueued;
    if (!is_waited) return std::nullopt;
    return member.place == Place::kRunning ? Guilt::kBehind : Guilt::kCalled;
  }

  const FleetView& view_;
  const std::vector<bool>& elsewhere_;
  std::uint32_t nodes_;  // ranks, then one per communicator for who is not seen, then tiers
  WaitGraph graph_;
  std::vector<Edge> edges_;
  std::vector<base::Nanos> waited_;  // by node: longest wait straight to it
  std::vector<bool> inside_;  // by rank: it has an unfinished operation
  std::vector<std::vector<base::Nanos>> member_waited_;  // by communicator and member
  std::vector<std::uint64_t> head_;  // by communicator: earliest collective that anybody is inside
  std::vector<Blame> peer_blames_;  // by rank, the longest wait first
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
