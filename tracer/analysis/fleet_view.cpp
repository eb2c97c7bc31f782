#include "tracer/analysis/fleet_view.h"

#include <algorithm>
#include <tuple>

#include "base/core/result.h"
#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

struct Row {  // one membership, before they are sorted
  std::uint64_t key = 0;
  std::uint32_t at = 0;
  const Membership* view = nullptr;
};

Place place_of(Operation::Stage stage) {
  switch (stage) {
    case Operation::Stage::kCalled: return Place::kCalled;
    case Operation::Stage::kLaunching:
    case Operation::Stage::kQueued: return Place::kQueued;
    case Operation::Stage::kRunning: break;
  }
  return Place::kRunning;
}

// Sets the member's place. The list of pending operations overrides the counters, because gloo
// finishes operations out of order.
void locate(Member& member) {
  const Membership& view = *member.view;
  member.counts = view.counts_completion;
  if (!member.counts) return;
  for (const Operation& operation : view.pending) {
    if (operation.ordinal == 0 || is_point_to_point(operation.signature.kind)) continue;
    if (member.pending == nullptr || operation.ordinal < member.pending->ordinal) {
      member.pending = &operation;
    }
  }
  if (member.pending != nullptr) {
    member.ordinal = member.pending->ordinal;
    member.place = place_of(member.pending->stage);
    member.age = std::max(member.pending->age, base::Nanos{0});
  } else if (view.entered > view.done) {
    member.ordinal = view.done + 1;
    member.place = Place::kRunning;
    member.age = std::max(view.idle, base::Nanos{0});
  } else {
    member.ordinal = view.done + 1;
  }
}

// Whether `a` knows more than `b`, two memberships of one rank in one communicator.
bool knows_more(const Membership& a, const Membership& b) {
  return std::tuple(a.counts_completion, a.entered, a.done) >
         std::tuple(b.counts_completion, b.entered, b.done);
}

std::uint32_t size_of(const Communicator& comm) {
  std::vector<std::uint32_t> sizes;
  for (const Member& member : comm.members) sizes.push_back(member.view->size);
  std::ranges::sort(sizes);
  return std::max(sizes[sizes.size() / 2], static_cast<std::uint32_t>(comm.members.size()));
}

}  // namespace

const Member* Communicator::find(std::int64_t rank) const {
  const auto at = std::ranges::lower_bound(
      members, rank, {}, [](const Member& m) { return std::int64_t{m.view->rank}; });
  return at == members.end() || at->view->rank != rank ? nullptr : &*at;
}

FleetView::FleetView(const FleetSnapshot& fleet) : fleet_(fleet) {
  index_ranks();
  index_comms();
}

void FleetView::index_ranks() {
  for (const RankSnapshot& rank : fleet_.ranks) ranks_.push_back(&rank);
  std::ranges::stable_sort(ranks_, {}, [](const RankSnapshot* r) { return r->rank; });
  const auto same = [](const RankSnapshot* a, const RankSnapshot* b) { return a->rank == b->rank; };
  ranks_.erase(std::ranges::unique(ranks_, same).begin(), ranks_.end());
}

void FleetView::index_comms() {
  std::vector<Row> rows;
  for (std::uint32_t at = 0; at < rank_count(); ++at) {
    for (const Membership& view : rank(at).comms) {
      const bool has_place = view.size == 0 || view.rank < view.size;
      if (has_place) rows.push_back({view.comm, at, &view});
    }
  }
  std::ranges::stable_sort(rows, {}, [](const Row& r) { return std::pair(r.key, r.at); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (comms_.empty() || comms_.back().key != row.key) {
      comms_.emplace_back().key = row.key;
    }
    std::vector<Member>& members = comms_.back().members;
    if (!members.empty() && members.back().at == row.at) {
      if (knows_more(*row.view, *members.back().view)) members.back().view = row.view;
      continue;
    }
    members.push_back({.at = row.at, .view = row.view});
  }
  memberships_.resize(ranks_.size());
  for (std::uint32_t c = 0; c < comms_.size(); ++c) {
    Communicator& comm = comms_[c];
    RR_ASSERT(!comm.members.empty());
    std::ranges::stable_sort(comm.members, {}, [](const Member& m) { return m.view->rank; });
    comm.size = size_of(comm);
    comm.uncounted = comm.size;
    for (std::uint32_t m = 0; m < comm.members.size(); ++m) {
      locate(comm.members[m]);
      if (comm.members[m].counts) --comm.uncounted;
      memberships_[comm.members[m].at].push_back({c, m});
    }
  }
}

std::optional<std::uint32_t> FleetView::find(base::Rank rank) const {
  const auto at =
      std::ranges::lower_bound(ranks_, rank, {}, [](const RankSnapshot* r) { return r->rank; });
  if (at == ranks_.end() || (*at)->rank != rank) return std::nullopt;
  return static_cast<std::uint32_t>(at - ranks_.begin());
}

bool FleetView::is_dead(std::uint32_t at) const {
  const RankSnapshot& r = rank(at);
  if (r.life == Life::kDead) return true;
  return r.evidence.has_process &&
         (r.evidence.process.state == "Z" || r.evidence.process.state == "X");
}

bool FleetView::is_stopped(std::uint32_t at) const {
  if (is_dead(at)) return false;
  const RankSnapshot& r = rank(at);
  if (r.life == Life::kStopped) return true;
  const ProcessState& process = r.evidence.process;
  return r.evidence.has_process && (process.state == "T" || process.state == "t" || process.frozen);
}

std::string FleetView::group_name(const Communicator& comm) const {
  std::vector<base::Rank> ranks;
  for (const Member& member : comm.members) ranks.push_back(rank(member.at).rank);
  std::ranges::sort(ranks);
  for (const RankGroup& group : fleet_.layout) {
    if (group.ranks.size() == comm.size && std::ranges::includes(group.ranks, ranks)) {
      return group.name.substr(0, kNameBytes);
    }
  }
  std::string_view name;  // members may differ: take the least one in byte order
  for (const Member& member : comm.members) {
    const std::string_view other = member.view->name;
    if (!other.empty() && (name.empty() || other < name)) name = other;
  }
  return std::string(name.substr(0, kNameBytes));
}

std::optional<Signature> FleetView::signature(const Communicator& comm,
                                              std::uint64_t ordinal) const {
  std::vector<Signature> signatures;
  for (const Member& member : comm.members) {
    const Signature* found = nullptr;
    for (const Past& past : member.view->recent) {
      if (past.ordinal == ordinal && !is_point_to_point(past.signature.kind)) {
        found = &past.signature;
      }
    }
    for (const Operation& operation : member.view->pending) {
      if (operation.ordinal == ordinal && !is_point_to_point(operation.signature.kind)) {
        found = &operation.signature;
      }
    }
    if (found != nullptr && found->kind != OpKind::kUnknown) signatures.push_back(*found);
  }
  if (signatures.empty()) return std::nullopt;
  const auto order = [](const Signature& s) { return std::tuple(s.kind, s.type, s.count, s.root); };
  std::ranges::sort(signatures, {}, order);
  std::size_t best = 0;
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < signatures.size();) {
    std::size_t end = begin;
    while (end < signatures.size() && signatures[end] == signatures[begin]) ++end;
    if (end - begin > longest) {
      longest = end - begin;
      best = begin;
    }
    begin = end;
  }
  return signatures[best];
}

std::vector<base::Rank> FleetView::missing_members(const Communicator& comm) const {
  if (comm.members.size() == comm.size) return {};
  std::vector<base::Rank> known;
  for (const Member& member : comm.members) known.push_back(rank(member.at).rank);
  std::ranges::sort(known);
  std::vector<base::Rank> all;
  if (comm.size == fleet_.world_size && comm.size <= kWorldRanksMax) {
    for (std::uint32_t r = 0; r < comm.size; ++r) all.push_back({r});
  }
  for (const RankGroup& group : fleet_.layout) {
    if (!all.empty()) break;
    if (group.ranks.size() == comm.size && std::ranges::includes(group.ranks, known)) {
      all = group.ranks;
    }
  }
  std::vector<base::Rank> missing;
  std::ranges::set_difference(all, known, std::back_inserter(missing));
  return missing;
}

}  // namespace robustrun::tracer
