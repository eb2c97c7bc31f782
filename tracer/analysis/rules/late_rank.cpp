// R7 without kernels to time (gloo): a rank that repeatedly arrives last at collectives, so that
// the others wait for it.
//
// Every rank records by its machine's clock when it entered an operation. A wrong clock shifts all
// times of a machine alike; lateness does not, because a rank that was late for one operation
// leaves it together with the others and reaches the next one in time. So times are taken relative
// to the median rank's, and a machine's times relative to its own best ones, over all communicators
// with the same members. A machine whose ranks are all late for every single operation cannot be
// distinguished from one with a wrong clock, so none of its ranks is named. Ranks on one machine
// share a clock and can be compared directly.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/core/words.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/rules.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

using base::Nanos;

// When each member entered one operation, in the order of the members.
struct Arrival {
  Nanos first{};
  Signature signature;
  std::vector<Nanos> late;  // relative to the other members, by possibly wrong clocks
};

struct Band {
  const Communicator* comm = nullptr;  // one of the communicators with these members
  std::vector<Arrival> arrivals;
  std::vector<std::vector<std::size_t>> clocks;  // groups of members that share a clock
};

// Groups the members by node. A member without a node's name has a clock of its own.
std::vector<std::vector<std::size_t>> clocks_of(const FleetView& view, const Communicator& comm) {
  std::map<std::string, std::vector<std::size_t>> by_node;
  std::vector<std::vector<std::size_t>> clocks;
  for (std::size_t m = 0; m < comm.members.size(); ++m) {
    const std::string& node = view.rank(comm.members[m].at).node;
    if (node.empty()) {
      clocks.push_back({m});
    } else {
      by_node[node].push_back(m);
    }
  }
  for (auto& [node, members] : by_node) clocks.push_back(std::move(members));
  return clocks;
}

Nanos nth(std::vector<Nanos> values, std::size_t n) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(n));
  return values[n];
}

// Times are outside input: implausible ones are ignored, and the first of two for one operation
// counts.
void add_arrivals(const Communicator& comm, std::vector<Arrival>& arrivals) {
  const std::size_t members = comm.members.size();
  std::map<std::uint64_t, std::vector<Nanos>> times;
  std::map<std::uint64_t, Signature> signatures;
  for (std::size_t m = 0; m < members; ++m) {
    for (const Past& past : comm.members[m].view->recent) {
      if (past.entered_at <= Nanos{} || past.entered_at > kClockMax) continue;
      // An operation that the first member has no record of is skipped.
      if (m == 0 && times.try_emplace(past.ordinal, members).second) {
        signatures[past.ordinal] = past.signature;
      }
      const auto row = times.find(past.ordinal);
      if (row != times.end() && row->second[m] == Nanos{}) row->second[m] = past.entered_at;
    }
  }
  for (auto& [ordinal, at] : times) {
    if (std::ranges::find(at, Nanos{}) != at.end()) continue;
    Arrival arrival;
    arrival.first = std::ranges::min(at);
    arrival.signature = signatures[ordinal];
    if (std::ranges::max(at) - arrival.first > kLateClocksApart) continue;
    for (const Nanos one : at) arrival.late.push_back(one - arrival.first);
    arrivals.push_back(std::move(arrival));
  }
}

// The bands by their members' indices.
std::map<std::vector<std::uint32_t>, Band> bands_of(const FleetView& view) {
  std::map<std::vector<std::uint32_t>, Band> bands;
  for (const Communicator& comm : view.comms()) {
    if (comm.members.size() != comm.size) continue;
    std::vector<std::vector<std::size_t>> clocks = clocks_of(view, comm);
    const std::size_t least = clocks.size() == 1 ? kLateMembersLeastOneClock : kLateMembersLeast;
    if (comm.members.size() < least) continue;
    std::vector<std::uint32_t> members;
    for (const Member& member : comm.members) members.push_back(member.at);
    Band& band = bands[members];
    band.comm = &comm;
    band.clocks = std::move(clocks);
    add_arrivals(comm, band.arrivals);
  }
  return bands;
}

// Reduces each lateness to what the machine's clock does not explain. At first, wrong clocks may
// decide which member is the median, so the correction is repeated.
void remove_clocks(Band& band) {
  const std::size_t members = band.arrivals.front().late.size();
  if (band.clocks.size() == 1) {  // one clock needs no correction; the first of two is in time
    for (Arrival& arrival : band.arrivals) {
      const Nanos middle = nth(arrival.late, (members - 1) / 2);
      for (Nanos& one : arrival.late) one -= middle;
    }
    return;
  }
  for (int round = 0; round < kLateRounds; ++round) {
    for (Arrival& arrival : band.arrivals) {
      const Nanos middle = nth(arrival.late, members / 2);
      for (Nanos& one : arrival.late) one -= middle;
    }
    for (const std::vector<std::size_t>& sharing : band.clocks) {
      std::vector<Nanos> own;  // the earliest of the machine's ranks, per operation
      for (const Arrival& arrival : band.arrivals) {
        Nanos first = arrival.late[sharing.front()];
        for (const std::size_t m : sharing) first = std::min(first, arrival.late[m]);
        own.push_back(first);
      }
      const Nanos clock = nth(own, own.size() / kLateBestPart);
      for (Arrival& arrival : band.arrivals) {
        for (const std::size_t m : sharing) arrival.late[m] -= clock;
      }
    }
  }
}

struct Late {
  std::size_t member = 0;
  std::size_t times = 0;  // how often it was the last one, and late
  std::size_t operations = 0;
  Nanos usual{};  // median lateness of these
  double share = 0;  // part of the whole time
};

// Steps repeat their operations. A slow rank is late for the same operations again and again; a
// rank that evaluates or saves now and then is late for an operation that it mostly reaches in
// time.
bool is_habit(const std::vector<const Arrival*>& late, const std::vector<Arrival>& all) {
  const auto is_alike = [&](const Arrival& one) {
    return std::ranges::any_of(
        late, [&](const Arrival* other) { return other->signature == one.signature; });
  };
  const auto alike = static_cast<double>(std::ranges::count_if(all, is_alike));
  return static_cast<double>(late.size()) >= kLateOfAlike * alike;
}

std::optional<Late> find_late(Band& band) {
  std::vector<Arrival>& arrivals = band.arrivals;
  if (arrivals.size() < kLateOperationsLeast) return std::nullopt;
  remove_clocks(band);
  const Nanos least = band.clocks.size() == 1 ? kLateLeastOneClock : kLateLeast;
  std::map<std::size_t, std::vector<Nanos>> last;
  std::map<std::size_t, std::vector<const Arrival*>> where;
  for (const Arrival& arrival : arrivals) {
    const auto worst = std::ranges::max_element(arrival.late);
    if (*worst < least) continue;
    const auto member = static_cast<std::size_t>(worst - arrival.late.begin());
    last[member].push_back(*worst);
    where[member].push_back(&arrival);
  }
  std::size_t late_operations = 0;
  for (const auto& [member, lates] : last) late_operations += lates.size();
  const auto [from, to] = std::ranges::minmax(arrivals, {}, &Arrival::first);
  const auto whole = static_cast<double>((to.first - from.first).count());
  for (const auto& [member, lates] : last) {
    if (lates.size() < kLateTimesLeast) continue;
    if (static_cast<double>(lates.size()) < kLateShare * static_cast<double>(late_operations)) {
      continue;
    }
    if (!is_habit(where.at(member), arrivals)) continue;
    double sum = 0;
    for (const Nanos one : lates) sum += static_cast<double>(one.count());
    const double share = whole > 0 ? sum / whole : 0;
    if (share < kLateTimeShare) continue;
    return Late{member, lates.size(), arrivals.size(), nth(lates, lates.size() / 2), share};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Verdict> rule_late_rank(const Case& facts) {
  for (auto& [members, band] : bands_of(facts.view)) {
    const auto late = find_late(band);
    if (!late) continue;
    const std::uint32_t culprit = members[late->member];
    std::vector<std::uint32_t> victims = members;
    std::erase(victims, culprit);
    Verdict verdict;
    verdict.finding = Finding::kSlowRank;
    verdict.confidence = Confidence::kInferred;
    verdict.culprits = {facts.view.rank(culprit).rank};
    verdict.nodes = nodes_of(facts.view, {culprit});
    verdict.victims = global_ranks(facts.view, victims);
    verdict.comm = band.comm->key;
    verdict.group = facts.view.group_name(*band.comm);
    verdict.is_moving = true;
    verdict.lost_share = std::clamp(late->share, 0.0, 1.0);
    verdict.sentence = fmt::format(
        "{} arrives last, {} behind the others, at {} of {} collectives ({}): {:.0f} % of the "
        "time{}",
        ranks_text(facts.view, {culprit}), base::rough_duration_words(late->usual), late->times,
        late->operations, group_text(facts.view, *band.comm), 100 * late->share,
        waiting_text(facts.view, victims, false));
    return verdict;
  }
  return std::nullopt;
}

}  // namespace robustrun::tracer
