// R7 where there is no kernel to time (gloo): a rank that comes last to collectives again and
// again, so that the others wait for it.
//
// Every rank notes by its own clock when it came to an operation. A clock that is wrong shifts all
// of a rank's times alike, lateness does not: whoever was late for one operation leaves it together
// with the others and comes to the next one in time. So a rank's times are taken relative to the
// median rank's, and to its own best ones, over all communicators with the same members. A rank
// that is late for every single one cannot be told from one whose clock is wrong, and is not named.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/rules.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

using base::Nanos;

// When each member came to one operation, in the order of the members.
struct Arrival {
  Nanos first{};
  std::vector<Nanos> late;  // relative to the others, by clocks that need not be right
};

struct Band {
  const Communicator* comm = nullptr;  // one of those with these members
  std::vector<Arrival> arrivals;
};

Nanos nth(std::vector<Nanos> values, std::size_t n) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(n));
  return values[n];
}

// Times are outside input: what no clock shows is no time, and of two for one operation the first
// counts.
void add_arrivals(const Communicator& comm, std::vector<Arrival>& arrivals) {
  const std::size_t members = comm.members.size();
  std::map<std::uint64_t, std::vector<Nanos>> times;
  for (std::size_t m = 0; m < members; ++m) {
    for (const Past& past : comm.members[m].view->recent) {
      if (past.entered_at <= Nanos{} || past.entered_at > kClockMax) continue;
      // Of what the first member does not know nobody's lateness is known.
      if (m == 0) times.try_emplace(past.ordinal, members);
      const auto row = times.find(past.ordinal);
      if (row != times.end() && row->second[m] == Nanos{}) row->second[m] = past.entered_at;
    }
  }
  for (auto& [ordinal, at] : times) {
    if (std::ranges::find(at, Nanos{}) != at.end()) continue;
    Arrival arrival;
    arrival.first = std::ranges::min(at);
    if (std::ranges::max(at) - arrival.first > kLateClocksApart) continue;
    for (const Nanos one : at) arrival.late.push_back(one - arrival.first);
    arrivals.push_back(std::move(arrival));
  }
}

// By the members' places in the fleet.
std::map<std::vector<std::uint32_t>, Band> bands_of(const FleetView& view) {
  std::map<std::vector<std::uint32_t>, Band> bands;
  for (const Communicator& comm : view.comms()) {
    if (comm.members.size() < kLateMembersLeast || comm.members.size() != comm.size) continue;
    std::vector<std::uint32_t> members;
    for (const Member& member : comm.members) members.push_back(member.at);
    Band& band = bands[members];
    band.comm = &comm;
    add_arrivals(comm, band.arrivals);
  }
  return bands;
}

// Leaves of each lateness what its member's clock does not explain. Which member is the median one
// may rest on wrong clocks at first, so it is done again with what is known by then.
void remove_clocks(std::vector<Arrival>& arrivals) {
  const std::size_t members = arrivals.front().late.size();
  for (int round = 0; round < kLateRounds; ++round) {
    for (Arrival& arrival : arrivals) {
      const Nanos middle = nth(arrival.late, members / 2);
      for (Nanos& one : arrival.late) one -= middle;
    }
    for (std::size_t m = 0; m < members; ++m) {
      std::vector<Nanos> own;
      for (const Arrival& arrival : arrivals) own.push_back(arrival.late[m]);
      const Nanos clock = nth(own, own.size() / kLateBestPart);
      for (Arrival& arrival : arrivals) arrival.late[m] -= clock;
    }
  }
}

struct Late {
  std::size_t member = 0;
  std::size_t times = 0;  // that it was the last one, and late
  std::size_t operations = 0;
  Nanos usual{};  // how late, median of those
  double share = 0;  // of the whole time
};

std::optional<Late> find_late(std::vector<Arrival>& arrivals) {
  if (arrivals.size() < kLateOperationsLeast) return std::nullopt;
  remove_clocks(arrivals);
  std::map<std::size_t, std::vector<Nanos>> last;
  for (const Arrival& arrival : arrivals) {
    const auto worst = std::ranges::max_element(arrival.late);
    if (*worst < kLateLeast) continue;
    last[static_cast<std::size_t>(worst - arrival.late.begin())].push_back(*worst);
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
    const auto late = find_late(band.arrivals);
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
    verdict.sentence = fmt::format(
        "{} comes last, {} behind the others, to {} of {} collectives ({}): {:.0f} % of the time{}",
        ranks_text(facts.view, {culprit}), duration_text(late->usual), late->times,
        late->operations, group_text(facts.view, *band.comm), 100 * late->share,
        waiting_text(facts.view, victims, false));
    return verdict;
  }
  return std::nullopt;
}

}  // namespace robustrun::tracer
