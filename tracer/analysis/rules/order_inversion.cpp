// R6b: ranks wait for each other in different operations, directly or in a circle, and none of them
// waits for any other rank. They called the operations in different orders, or one of them left an
// operation out; a hung job cannot show which of the two. The culprit may show: ranks of one
// program have called equally many operations of one kind of group before the same operation of
// another, so a rank with a different count is the culprit.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

constexpr std::size_t kSidesNamed = 6;

struct Side {  // the ranks of a knot that are inside the same operation
  Wait wait;  // the longest one
  std::vector<std::uint32_t> ats;
};

auto key_of(const Wait& wait) {
  return std::tuple(wait.comm, wait.ordinal, wait.peer, wait.signature.kind);
}

std::vector<Side> sides_of(const Case& facts, const std::vector<std::uint32_t>& knot) {
  std::vector<bool> is_seen(facts.view.rank_count(), false);
  std::vector<Side> sides;
  for (const Wait& wait : facts.graph.waits()) {  // the longest first
    if (!wait.has_edges || is_seen[wait.at]) continue;
    if (!std::ranges::binary_search(knot, wait.at)) continue;
    is_seen[wait.at] = true;
    const auto is_same = [&](const Side& s) {
      return wait.peer < 0 && s.wait.comm == wait.comm && s.wait.ordinal == wait.ordinal;
    };
    const auto side = std::ranges::find_if(sides, is_same);
    if (side == sides.end()) {
      sides.push_back({wait, {wait.at}});
    } else {
      side->ats.push_back(wait.at);
    }
  }
  for (Side& side : sides) std::ranges::sort(side.ats);
  const auto order = [](const Side& s) { return std::tuple(s.ats.size(), key_of(s.wait)); };
  std::ranges::sort(sides, std::greater{}, order);
  return sides;
}

// What a rank had called when it reached an operation.
struct Called {
  std::uint32_t at = 0;
  std::uint64_t before = 0;  // number of operations of another group called before
};

// The rank's membership in the group `name`; nullptr: it has none, or several of that name.
const Membership* member_of(const RankSnapshot& rank, std::string_view name) {
  const Membership* found = nullptr;
  for (const Membership& comm : rank.comms) {
    if (comm.name != name || !comm.counts_completion) continue;
    if (found != nullptr) return nullptr;
    found = &comm;
  }
  return found;
}

// How many operations of `other` the rank had called when it called operation `ordinal` of `own`.
std::optional<std::uint64_t> called_before(const Membership& own, std::uint64_t ordinal,
                                           const Membership& other) {
  const auto come = std::ranges::find(own.recent, ordinal, &Past::ordinal);
  if (come == own.recent.end() || come->entered_at <= base::Nanos{}) return std::nullopt;
  std::optional<std::uint64_t> before;
  if (other.recent.empty() ? other.entered == 0 : other.recent.front().ordinal == 1) before = 0;
  for (const Past& past : other.recent) {
    if (past.entered_at <= base::Nanos{}) return std::nullopt;
    if (past.entered_at < come->entered_at) before = past.ordinal;
  }
  return before;
}

// The ranks that differ from the majority; empty: all agree, or no value has a majority.
std::vector<std::uint32_t> minority(const std::vector<Called>& called) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const Called& one : called) ++counts[one.before];
  const auto by_count = [](const auto& row) { return row.second; };
  const auto most = std::ranges::max_element(counts, {}, by_count);
  if (most == counts.end() || most->second * 2 <= called.size() || most->second < 2) return {};
  std::vector<std::uint32_t> few;
  for (const Called& one : called) {
    if (one.before != most->first) few.push_back(one.at);
  }
  return few;
}

// Among the ranks that called the operation of `side` (members of its group or, at rest, of groups
// of the same name): those that had called more or fewer operations of the other side's kind of
// group than most.
std::vector<std::uint32_t> deviating(const Case& facts, const Side& side, const Side& other) {
  if (side.wait.peer >= 0 || other.wait.peer >= 0) return {};
  const FleetView& view = facts.view;
  const Communicator& here = view.comms()[side.wait.comm];
  const std::string& name = here.members.front().view->name;
  const std::string& there = view.comms()[other.wait.comm].members.front().view->name;
  if (name.empty() || there.empty() || name == there) return {};
  std::vector<Called> members, all;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    const Membership* const own = member_of(view.rank(at), name);
    const Membership* const its = member_of(view.rank(at), there);
    if (own == nullptr || its == nullptr) continue;
    const auto before = called_before(*own, side.wait.ordinal, *its);
    if (!before) continue;
    all.push_back({at, *before});
    if (own->comm == here.key) members.push_back(all.back());
  }
  std::vector<std::uint32_t> few = minority(members);
  if (few.empty() && view.fleet().at_rest) few = minority(all);
  return few;
}

// The ranks of `knot` that deviate between any two of its sides.
std::vector<std::uint32_t> deviating(const Case& facts, const std::vector<Side>& sides,
                                     const std::vector<std::uint32_t>& knot) {
  std::set<std::uint32_t> found;
  const std::size_t looked = std::min(sides.size(), kSidesNamed);
  for (std::size_t i = 0; i < looked; ++i) {
    for (std::size_t j = 0; j < looked; ++j) {
      if (i == j) continue;
      for (const std::uint32_t at : deviating(facts, sides[i], sides[j])) {
        if (std::ranges::binary_search(knot, at)) found.insert(at);
      }
    }
  }
  return {found.begin(), found.end()};
}

bool is_member(const Case& facts, const Side& side, std::uint32_t at) {
  const Communicator& comm = facts.view.comms()[side.wait.comm];
  return std::ranges::any_of(comm.members, [&](const Member& m) { return m.at == at; });
}

// Whether all ranks of each side are members of the other side's group, where they are missing.
bool miss_each_other(const Case& facts, const Side& a, const Side& b) {
  const auto all_in = [&](const Side& inside, const Side& missed) {
    return std::ranges::all_of(inside.ats,
                               [&](std::uint32_t at) { return is_member(facts, missed, at); });
  };
  return all_in(a, b) && all_in(b, a);
}

std::string text_of(const Case& facts, const Side& side) {
  const Communicator& comm = facts.view.comms()[side.wait.comm];
  Signature signature = side.wait.signature;
  if (signature.kind == OpKind::kUnknown) {
    signature = facts.view.signature(comm, side.wait.ordinal).value_or(signature);
  }
  return fmt::format("{} {} in {}", ranks_text(facts.view, side.ats),
                     side.ats.size() > 1 ? "are" : "is",
                     operation_text(facts.view, comm, side.wait.ordinal, signature));
}

// Why the ranks cannot proceed.
std::string conclusion(const Case& facts, const std::vector<Side>& sides, bool is_majority) {
  if (sides.size() > 2 || !miss_each_other(facts, sides[0], sides[1])) {
    return "they wait in a circle, because some call the operations in a different order or have "
           "left one out";
  }
  if (!is_majority) {
    return "they wait for each other, because they call the operations in different orders or one "
           "has left one out";
  }
  const Side& few = sides[1];
  return fmt::format(
      "they wait for each other, because {} {} the operations in a different order or {} left one "
      "out",
      ranks_text(facts.view, few.ats), few.ats.size() > 1 ? "call" : "calls",
      few.ats.size() > 1 ? "have" : "has");
}

std::string conclusion(const Case& facts, const std::vector<std::uint32_t>& few) {
  return fmt::format(
      "they wait for each other, directly or in a circle, because {} {} left an operation out or "
      "{} the operations in a different order than most",
      ranks_text(facts.view, few), few.size() > 1 ? "have" : "has",
      few.size() > 1 ? "call" : "calls");
}

// Whether the rank certainly waits. Otherwise its thread may be elsewhere, with operations pending,
// and it is only late.
bool is_proved_waiting(const Case& facts, std::uint32_t at) {
  const Reason reason = facts.where[at].reason;
  if (reason == Reason::kCommunication || reason == Reason::kOwnGpu) return true;
  for (const MemberAt where : facts.view.memberships(at)) {
    const Member& member = facts.view.member(where);
    if (member.counts && member.place == Place::kQueued) return true;
  }
  return false;
}

}  // namespace

std::optional<Verdict> rule_order_inversion(const Case& facts) {
  for (const std::vector<std::uint32_t>& knot : facts.graph.knots()) {
    const std::vector<Side> sides = sides_of(facts, knot);
    if (sides.size() < 2) continue;
    const bool is_majority = knot.size() > 2 && sides.front().ats.size() * 2 > knot.size();
    const std::vector<std::uint32_t> few = deviating(facts, sides, knot);
    std::vector<Blame> blames;
    for (std::size_t i = is_majority && few.empty() ? 1 : 0; i < sides.size(); ++i) {
      for (const std::uint32_t at : sides[i].ats) {
        if (!few.empty() && !std::ranges::binary_search(few, at)) continue;
        Blame blame;
        blame.at = at;
        blame.comm = sides[i].wait.comm;
        blame.ordinal = sides[i].wait.ordinal;
        blame.signature = sides[i].wait.signature;
        blame.age = sides[i].wait.age;
        blames.push_back(blame);
      }
    }
    if (blames.empty()) continue;
    Accusation made = accuse(facts, Finding::kOrderInversion, blames);
    // At rest, a knot of many ranks in which none stands out: no rank is named.
    const bool is_anyone = few.empty() && !is_majority && blames.size() > kSidesNamed;
    if (is_anyone && facts.view.fleet().at_rest) {
      made.verdict.culprits.clear();
      made.verdict.nodes.clear();
    }
    const bool is_proved =
        std::ranges::all_of(knot, [&](std::uint32_t at) { return is_proved_waiting(facts, at); });
    if (!is_proved) {
      made.verdict.confidence = Confidence::kInferred;
    } else if (is_majority) {
      made.verdict.confidence = Confidence::kMajority;
    }
    std::string inside;
    for (std::size_t i = 1; i <= std::min(sides.size(), kSidesNamed); ++i) {
      inside += text_of(facts, sides[i % sides.size()]) + (i < sides.size() ? ", " : "");
    }
    if (sides.size() > kSidesNamed) {
      inside += fmt::format("and {} more elsewhere", sides.size() - kSidesNamed);
    }
    made.verdict.sentence =
        fmt::format("{}{}: {}", inside, for_text(made.age),
                    few.empty() ? conclusion(facts, sides, is_majority) : conclusion(facts, few));
    made.verdict.sentence += waiting_text(facts, made);
    for (const Side& side : sides) {
      if (made.verdict.evidence.size() < 4) made.verdict.evidence.push_back(text_of(facts, side));
    }
    return made.verdict;
  }
  return std::nullopt;
}

}  // namespace robustrun::tracer
