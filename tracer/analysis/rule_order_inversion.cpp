// R6b: ranks wait for each other in different operations, and nobody among them for anybody else:
// they have called the operations in different orders.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

struct Side {  // of a knot: those who are inside the same operation
  Wait wait;   // the longest of them
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

// Without that they may only be late: with something pending, and their thread elsewhere.
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
    std::vector<Blame> blames;
    for (std::size_t i = is_majority ? 1 : 0; i < sides.size(); ++i) {
      for (const std::uint32_t at : sides[i].ats) {
        Blame blame;
        blame.at = at;
        blame.comm = sides[i].wait.comm;
        blame.ordinal = sides[i].wait.ordinal;
        blame.signature = sides[i].wait.signature;
        blame.age = sides[i].wait.age;
        blames.push_back(blame);
      }
    }
    Accusation made = accuse(facts, Finding::kOrderInversion, blames);
    const bool is_proved =
        std::ranges::all_of(knot, [&](std::uint32_t at) { return is_proved_waiting(facts, at); });
    if (!is_proved) {
      made.verdict.confidence = Confidence::kInferred;
    } else if (is_majority) {
      made.verdict.confidence = Confidence::kMajority;
    }
    made.verdict.sentence =
        fmt::format("{}, {}: they call them in different orders and wait for each other{}",
                    text_of(facts, sides[1]), text_of(facts, sides[0]), for_text(made.age));
    made.verdict.sentence += waiting_text(facts, made);
    for (const Side& side : sides) {
      if (made.verdict.evidence.size() < 4) made.verdict.evidence.push_back(text_of(facts, side));
    }
    return made.verdict;
  }
  return std::nullopt;
}

}  // namespace robustrun::tracer
