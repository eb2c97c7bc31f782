#include "tracer/analysis/wait_edges.h"

#include <algorithm>
#include <tuple>

namespace robustrun::tracer {
namespace {

// How far a member is in its communicator. Members wait only for those that are less far.
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

class Collector {
 public:
  explicit Collector(const FleetView& view) : view_(view) {
    const auto comms = static_cast<std::uint32_t>(view.comms().size());
    out_.nodes = view.rank_count() + comms;
    out_.waited.resize(out_.nodes, kNoWait);
    out_.inside.resize(view.rank_count(), false);
    out_.waits_itself.resize(view.rank_count(), false);
    out_.behind.resize(view.rank_count(), false);
    out_.member_waited.resize(comms);
    out_.head.resize(comms, 0);
  }

  WaitEdges run() {
    for (std::uint32_t c = 0; c < view_.comms().size(); ++c) {
      add_collectives(c);
      add_peers(c);
      if (view_.fleet().at_rest) note_behind(c);
    }
    std::ranges::stable_sort(out_.behind_blames, {}, &Blame::at);
    std::ranges::sort(out_.peer_blames, {}, [](const Blame& b) { return std::pair(b.at, -b.age); });
    std::ranges::sort(out_.waits, {},
                      [](const Wait& w) { return std::tuple(-w.age, w.comm, w.at); });
    return std::move(out_);
  }

 private:
  void wait_for(std::uint32_t node, base::Nanos age) {
    out_.waited[node] = std::max(out_.waited[node], age);
  }

  // The first collective that a living member has not entered. A dead or stopped member that
  // finished it earlier does not block it.
  [[nodiscard]] std::uint64_t first_missed(const Communicator& comm) const {
    std::uint64_t first = UINT64_MAX;
    for (const Member& member : comm.members) {
      const bool is_absent = member.counts && member.place == Place::kAbsent;
      if (is_absent && !is_out(view_, member.at)) first = std::min(first, member.ordinal);
    }
    return first;
  }

  void note_behind(std::uint32_t c) {
    const Communicator& comm = view_.comms()[c];
    for (const Member& member : comm.members) {
      if (!is_behind(view_, comm, member)) continue;
      Blame blame;
      blame.at = member.at;
      blame.comm = c;
      blame.ordinal = member.ordinal;
      blame.age = member.age;
      add_behind(blame);
    }
  }

  void add_behind(Blame blame) {
    out_.behind[blame.at] = true;
    blame.guilt = Guilt::kBehind;
    out_.behind_blames.push_back(blame);
  }

  void add_collectives(std::uint32_t c) {
    const Communicator& comm = view_.comms()[c];
    out_.member_waited[c].assign(comm.members.size(), kNoWait);
    std::vector<std::pair<Distance, std::uint32_t>> order;  // members whose progress is known
    std::uint32_t unseen = comm.uncounted;
    const std::uint64_t missed = first_missed(comm);
    for (std::uint32_t m = 0; m < comm.members.size(); ++m) {
      const Member& member = comm.members[m];
      if (is_out(view_, member.at)) {
        const bool did_its_part = member.counts && member.ordinal > missed;
        order.push_back({did_its_part ? Distance{member.ordinal, 0} : Distance{0, 0}, m});
        if (!member.counts) --unseen;
      } else if (member.counts) {
        order.push_back({distance_of(member), m});
        if (member.place != Place::kAbsent) out_.inside[member.at] = true;
      }
    }
    std::ranges::sort(order);
    const auto waiting = [&](const auto& o) {
      const Member& member = comm.members[o.second];
      return member.counts && is_inside(member) && !is_out(view_, member.at);
    };
    if (std::ranges::none_of(order, waiting)) return;
    add_tiers(c, order, unseen > 0);
  }

  // Members of equal distance form a tier; the node `below` a tier leads to all members in lower
  // tiers.
  void add_tiers(std::uint32_t c, const std::vector<std::pair<Distance, std::uint32_t>>& order,
                 bool has_unseen) {
    const Communicator& comm = view_.comms()[c];
    bool is_lowest = true;
    std::uint32_t below = 0;
    std::vector<std::uint32_t> below_of;  // node per tier, for the pass from above
    for (std::size_t begin = 0; begin < order.size();) {
      std::size_t end = begin;
      base::Nanos longest = kNoWait;
      for (; end < order.size() && order[end].first == order[begin].first; ++end) {
        const Member& member = comm.members[order[end].second];
        if (is_out(view_, member.at)) continue;
        if (!is_inside(member)) continue;
        add_wait(c, member, !is_lowest);
        longest = std::max(longest, member.age);
        if (!is_lowest) out_.edges.push_back({member.at, below});
        if (!has_unseen) continue;
        out_.edges.push_back({member.at, unseen_node(view_, c)});
        wait_for(unseen_node(view_, c), member.age);
      }
      if (!is_lowest) wait_for(below, longest);
      below_of.push_back(below);
      const std::uint32_t above = out_.nodes++;
      out_.waited.push_back(kNoWait);
      for (std::size_t i = begin; i < end; ++i) {
        out_.edges.push_back({above, comm.members[order[i].second].at});
      }
      if (!is_lowest) out_.edges.push_back({above, below});
      below = above;
      is_lowest = false;
      begin = end;
    }
    spread_ages(c, order, below_of);
  }

  // Members below a tier have been waited for as long as any tier above has waited.
  void spread_ages(std::uint32_t c, const std::vector<std::pair<Distance, std::uint32_t>>& order,
                   const std::vector<std::uint32_t>& below_of) {
    const Communicator& comm = view_.comms()[c];
    base::Nanos longest = kNoWait;
    std::size_t tier = below_of.size();
    for (std::size_t i = order.size(); i-- > 0;) {
      const bool is_new = i + 1 == order.size() || order[i].first != order[i + 1].first;
      if (is_new) {
        if (tier < below_of.size() && tier > 0) {
          longest = std::max(longest, out_.waited[below_of[tier]]);
        }
        --tier;
      }
      out_.member_waited[c][order[i].second] = longest;
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
    if (out_.head[c] == 0 || member.ordinal < out_.head[c]) out_.head[c] = member.ordinal;
    out_.waits.push_back(wait);
    out_.waits_itself[member.at] = true;
  }

  struct Entered {  // the sends to, or receives from, one peer of a member
    std::uint32_t member = 0;
    std::int32_t peer = -1;
    bool is_send = false;
    std::uint64_t count = 0;
    std::uint64_t done = 0;
    bool is_part = false;
    [[nodiscard]] auto key() const { return std::tuple(member, peer, is_send); }
  };

  void add_peers(std::uint32_t c) {
    const Communicator& comm = view_.comms()[c];
    std::vector<Entered> entered;
    bool is_waiting = false;
    for (std::uint32_t m = 0; m < comm.members.size(); ++m) {
      for (const PeerCount& count : comm.members[m].view->peers) {
        entered.push_back({m, count.peer, count.is_send, count.entered, count.done, count.is_part});
        is_waiting |= count.entered > count.done;
      }
    }
    if (!is_waiting) return;
    std::ranges::sort(entered, {}, &Entered::key);
    for (std::uint32_t m = 0; m < comm.members.size(); ++m) {
      const Member& member = comm.members[m];
      if (!member.counts || is_out(view_, member.at)) continue;
      for (const PeerCount& count : member.view->peers) {
        const bool is_own = count.peer == static_cast<std::int32_t>(member.view->rank);
        if (count.entered > count.done && !is_own) add_peer_wait(c, member, count, entered);
      }
    }
  }

  void add_peer_wait(std::uint32_t c, const Member& member, const PeerCount& count,
                     const std::vector<Entered>& entered) {
    out_.inside[member.at] = true;
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
    if (peer == nullptr || (!peer->counts && !is_out(view_, peer->at))) {
      out_.edges.push_back({member.at, unseen_node(view_, c)});
      wait_for(unseen_node(view_, c), wait.age);
    } else {
      const Entered* const other = counterpart(comm, *peer, member, count, entered);
      const bool is_here = other != nullptr && has_entered(*other, count);
      // The peer has received what this rank is still sending.
      const bool is_over = count.is_send && other != nullptr && !other->is_part && !count.is_part &&
                           other->done > count.done;
      if (is_over && view_.fleet().at_rest) {
        Blame own;
        own.at = member.at;
        own.comm = c;
        own.ordinal = wait.ordinal;
        own.signature = wait.signature;
        own.age = wait.age;
        add_behind(own);
      }
      PeerCount there{.peer = static_cast<std::int32_t>(member.view->rank),
                      .is_send = !count.is_send};
      const bool is_held =
          is_here && other->count > other->done && is_held_by_gpu(find_pending(*peer->view, there));
      if (is_out(view_, peer->at) || !is_here || is_held) {
        wait.has_edges = true;
        out_.edges.push_back({member.at, peer->at});
        wait_for(peer->at, wait.age);
        Blame blame;
        blame.at = peer->at;
        blame.comm = c;
        blame.ordinal = wait.ordinal;
        blame.age = wait.age;
        blame.guilt = is_held ? Guilt::kQueued : Guilt::kAbsent;
        blame.signature = wait.signature;
        blame.signature.kind = count.is_send ? OpKind::kRecv : OpKind::kSend;
        blame.signature.root = static_cast<std::int32_t>(member.view->rank);
        out_.peer_blames.push_back(blame);
      }
    }
    out_.waits.push_back(wait);
    out_.waits_itself[member.at] = true;
  }

  // The peer's receives that match these sends, or its sends that match these receives; nullptr:
  // none.
  static const Entered* counterpart(const Communicator& comm, const Member& peer,
                                    const Member& member, const PeerCount& count,
                                    const std::vector<Entered>& entered) {
    const auto index = static_cast<std::uint32_t>(&peer - comm.members.data());
    const std::tuple key(index, static_cast<std::int32_t>(member.view->rank), !count.is_send);
    const auto found = std::ranges::lower_bound(entered, key, {}, &Entered::key);
    return found != entered.end() && found->key() == key ? &*found : nullptr;
  }

  // The k-th send from r to s matches the k-th receive of s from r. If counts do not begin at 0,
  // only the pending operations can be matched: a finished one is finished on both sides.
  static bool has_entered(const Entered& other, const PeerCount& count) {
    if (other.is_part || count.is_part) return other.count > other.done;
    return other.count > count.done;
  }

  const FleetView& view_;
  WaitEdges out_;
};

}  // namespace

WaitEdges wait_edges(const FleetView& view) { return Collector(view).run(); }

bool is_behind(const FleetView& view, const Communicator& comm, const Member& member) {
  if (!member.counts || member.place == Place::kAbsent) return false;
  const auto is_beyond = [&](const Member& m) { return m.counts && m.ordinal > member.ordinal; };
  if (std::ranges::none_of(comm.members, is_beyond)) return false;
  const std::optional<Signature> signature = view.signature(comm, member.ordinal);
  return signature && synchronises_all(signature->kind);
}

bool is_out(const FleetView& view, std::uint32_t at) {
  return view.is_dead(at) || view.is_stopped(at);
}

}  // namespace robustrun::tracer
