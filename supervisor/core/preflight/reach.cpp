// Rule: all nodes of a group must reach each other.
//
// No two nodes with a broken direction between them stay together. The node with the most broken
// pairs is left out, then the next, until no broken pair remains: so a machine with a bad cable is
// left out alone, however many others name it. Of two equal ones the later is left out. Nodes that
// did not answer are out already.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

using Index = std::size_t;
// Calls that failed, by caller and callee.
using Failures = std::map<std::pair<Index, Index>, const base::Unreached*>;

Failures failures_of(const Judgement& judgement) {
  Failures failures;
  const auto& nodes = judgement.checked.nodes;
  std::map<base::NodeId, Index> places;
  for (Index place = 0; place < nodes.size(); ++place) places.emplace(nodes[place].node, place);
  for (Index from = 0; from < nodes.size(); ++from) {
    if (!nodes[from].answered) continue;
    for (const base::Unreached& unreached : nodes[from].unreached) {
      const auto to = places.find(unreached.peer);
      const bool counts = to != places.end() && to->second != from && nodes[to->second].answered;
      if (counts) failures.emplace(std::pair(from, to->second), &unreached);
    }
  }
  return failures;
}

bool half_heard(const Judgement& judgement, Index listener, Index caller) {
  const auto& nodes = judgement.checked.nodes;
  return std::ranges::find(nodes[listener].half_heard, nodes[caller].node) !=
         nodes[listener].half_heard.end();
}

class Pairs {
 public:
  Pairs(const Judgement& judgement, const Failures& failures)
      : judgement_(judgement), failures_(failures) {
    for (const auto& [pair, why] : failures) {
      partners_[pair.first].insert(pair.second);
      partners_[pair.second].insert(pair.first);
    }
  }

  // The node with the most broken pairs; none when all are whole.
  [[nodiscard]] std::optional<Index> worst() const {
    std::optional<Index> worst;
    for (const auto& [place, others] : partners_) {
      if (!others.empty() && (!worst || others.size() >= partners_.at(*worst).size())) {
        worst = place;
      }
    }
    return worst;
  }

  // Leaves the node out; returns the other nodes of its broken pairs.
  std::set<Index> leave_out(Index place) {
    std::set<Index> others = std::exchange(partners_[place], {});
    for (const Index other : others) partners_[other].erase(place);
    return others;
  }

  // The pair, the direction and the cause.
  [[nodiscard]] std::string words(Index one, Index two) const {
    const auto there = failures_.find({one, two});
    const auto back = failures_.find({two, one});
    if (back == failures_.end()) return one_way(one, two, *there->second);
    if (there == failures_.end()) return one_way(two, one, *back->second);
    const bool one_heard = half_heard(judgement_, two, one);
    const bool two_heard = half_heard(judgement_, one, two);
    if (one_heard != two_heard) {
      const std::string& lost_from = name(one_heard ? two : one);
      const std::string& lost_to = name(one_heard ? one : two);
      return fmt::format("what {} sends to {} is lost ({}); what {} sends arrives", lost_from,
                         lost_to, said(there->second->how), lost_to);
    }
    const std::string how = said(there->second->how), how_back = said(back->second->how);
    if (how != how_back) {
      return fmt::format("{} cannot reach {} ({}), nor {} {} ({})", name(one), name(two), how,
                         name(two), name(one), how_back);
    }
    return fmt::format("{} and {} cannot reach each other: {}", name(one), name(two), how);
  }

 private:
  [[nodiscard]] const std::string& name(Index place) const { return judgement_.wanted[place].name; }
  [[nodiscard]] std::string one_way(Index from, Index to, const base::Unreached& why) const {
    return fmt::format("{} cannot reach {}: {}; the other direction works", name(from), name(to),
                       said(why.how));
  }

  const Judgement& judgement_;
  const Failures& failures_;
  std::map<Index, std::set<Index>> partners_;   // of broken pairs
};

}  // namespace

void judge_reach(Judgement& judgement) {
  const Failures failures = failures_of(judgement);
  Pairs pairs(judgement, failures);
  while (const auto worst = pairs.worst()) {
    const std::set<Index> others = pairs.leave_out(*worst);
    std::size_t shown = 0;
    for (const Index other : others) {
      if (shown++ == kNamesShownMax) break;
      judgement.add(*worst, Fitness::kUnfit,
                    pairs.words(std::min(*worst, other), std::max(*worst, other)));
    }
    if (others.size() > kNamesShownMax) {
      judgement.add(*worst, Fitness::kUnfit,
                    fmt::format("and the same with {} more nodes", others.size() - kNamesShownMax));
    }
  }
}

}  // namespace robustrun::supervisor
