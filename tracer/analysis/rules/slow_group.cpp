// R8c: groups whose collectives have become slower than they were, while those of other groups have
// not. It serves where no flows are reported: within a node, over NVLink or shared memory.
//
// A group is as fast as its member that waits least for the others. That time grows only if the
// transfer itself takes longer, and then it grows for all members: which of them is to blame shows
// only if several groups have become slower and share exactly one rank. All members of a single
// such group may be on one node, which is then named; otherwise only the group is.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

struct GroupPace {
  std::size_t members = 0;
  double now = std::numeric_limits<double>::max();  // ns per byte; the least of all members
  double usual = std::numeric_limits<double>::max();
  double bytes = 0;
};

struct GroupChange {
  std::uint32_t comm = 0;
  double factor = 0;  // of the time per byte, over all kinds and sizes
};

// None: some member, or its history, is not known.
std::optional<double> change_of(const Communicator& comm) {
  if (comm.members.size() != comm.size || comm.size < 2) return std::nullopt;
  std::map<std::pair<OpKind, std::uint32_t>, GroupPace> paces;
  for (const Member& member : comm.members) {
    for (const Rate& rate : member.view->rates) {
      if (rate.count < kRateCountLeast || rate.bytes == 0 || rate.usual <= 0) continue;
      if (!synchronises_all(rate.kind)) continue;
      GroupPace& pace = paces[{rate.kind, rate.size_bits}];
      const auto bytes = static_cast<double>(rate.bytes);
      ++pace.members;
      pace.now = std::min(pace.now, static_cast<double>(rate.busy.count()) / bytes);
      pace.usual = std::min(pace.usual, rate.usual);
      pace.bytes = std::max(pace.bytes, bytes);
    }
  }
  double now = 0, usual = 0;
  for (const auto& [what, pace] : paces) {
    if (pace.members != comm.size) continue;
    now += pace.now * pace.bytes;
    usual += pace.usual * pace.bytes;
  }
  if (usual <= 0) return std::nullopt;
  return now / usual;
}

// Ranks, by index, that are members of all of these groups.
std::vector<std::uint32_t> shared_by(const FleetView& view,
                                     const std::vector<GroupChange>& groups) {
  std::map<std::uint32_t, std::size_t> times;
  for (const GroupChange& group : groups) {
    for (const Member& member : view.comms()[group.comm].members) ++times[member.at];
  }
  std::vector<std::uint32_t> shared;
  for (const auto& [at, count] : times) {
    if (count == groups.size()) shared.push_back(at);
  }
  return shared;
}

}  // namespace

std::optional<Verdict> rule_slow_group(const Case& facts) {
  const FleetView& view = facts.view;
  std::vector<GroupChange> fallen;
  std::size_t steady = 0;
  for (std::uint32_t c = 0; c < view.comms().size(); ++c) {
    const std::optional<double> factor = change_of(view.comms()[c]);
    if (!factor) continue;
    if (*factor > kFallenFactor) fallen.push_back({c, *factor});
    steady += *factor < kSteadyFactor ? 1 : 0;
  }
  // If most have changed, the job has.
  if (fallen.empty() || steady < fallen.size()) return std::nullopt;
  const std::vector<std::uint32_t> shared = shared_by(view, fallen);
  if (shared.empty()) return std::nullopt;
  const GroupChange& worst = *std::ranges::max_element(fallen, {}, &GroupChange::factor);
  const Communicator& comm = view.comms()[worst.comm];
  const std::string groups =
      group_text(view, comm) +
      (fallen.size() > 1 ? fmt::format(" and {} more", fallen.size() - 1) : std::string());
  const std::string how = fmt::format("take {:.1f} times as long as before", worst.factor);
  Verdict verdict;
  verdict.finding = Finding::kSlowLink;
  verdict.confidence = Confidence::kInferred;
  verdict.comm = comm.key;
  verdict.group = view.group_name(comm);
  if (shared.size() == 1) {
    verdict.culprits = global_ranks(view, shared);
    verdict.nodes = nodes_of(view, shared);
    verdict.sentence = fmt::format(
        "the links of {} are slow: collectives of {} {}, and it is the only rank that "
        "they share",
        ranks_text(view, shared), groups, how);
    return verdict;
  }
  std::vector<std::string> nodes = nodes_of(view, shared);
  const std::string members = ranks_text(view, shared);
  verdict.sentence = fmt::format(
      "collectives of {} {} ({}); which of these ranks is to blame is "
      "not known",
      groups, how, members);
  if (nodes.size() == 1 && !nodes.front().empty()) verdict.nodes = std::move(nodes);
  return verdict;
}

}  // namespace robustrun::tracer
