// R2: a member has not entered an operation that others are inside, and it is inside no other: its
// thread is elsewhere. Its stack decides whether the finding is this one, an input stall (R9), a
// long phase (R10) or its own GPU (R3).

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {

Absent sort_absent(const Case& facts) {
  Absent absent;
  for (const Blame& blame : facts.graph.blames()) {
    if (blame.guilt != Guilt::kAbsent && blame.guilt != Guilt::kCalled) continue;
    const Reason reason = facts.where[blame.at].reason;
    if (is_long_phase(reason)) {
      absent.phase.push_back(blame);
    } else if (reason == Reason::kDataLoader) {
      absent.loader.push_back(blame);
    } else if (reason == Reason::kOwnGpu) {
      absent.own_gpu.push_back(blame);
    } else if (reason == Reason::kCommunication && blame.guilt == Guilt::kAbsent) {
      absent.unrecorded.push_back(blame);
    } else {
      absent.plain.push_back(blame);
    }
  }
  return absent;
}

namespace {

// Adds unseen ranks: others wait for them in operations that all other members have reached.
void add_unseen(const Case& facts, Verdict& verdict) {
  std::vector<base::Rank> unseen = unseen_suspects(facts).certain;
  std::erase_if(
      unseen, [&](base::Rank rank) { return std::ranges::binary_search(verdict.culprits, rank); });
  if (unseen.empty()) return;
  std::vector<std::uint32_t> numbers;
  for (const base::Rank rank : unseen) numbers.push_back(rank.value);
  verdict.sentence += fmt::format("; {} {}, which others wait for, {} no record",
                                  unseen.size() > 1 ? "ranks" : "rank", list_text(numbers),
                                  unseen.size() > 1 ? "have" : "has");
  verdict.culprits.insert(verdict.culprits.end(), unseen.begin(), unseen.end());
  std::ranges::sort(verdict.culprits);
  verdict.confidence = Confidence::kInferred;
}

bool has_pending(const Case& facts) {
  for (const Communicator& comm : facts.view.comms()) {
    for (const Member& member : comm.members) {
      if (!member.view->pending.empty()) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Verdict> rule_never_entered(const Case& facts) {
  const Absent absent = sort_absent(facts);
  std::vector<Blame> blames = absent.plain;
  // Ranks in their data loaders cannot be distinguished from ranks that are absent without a
  // reason.
  if (!blames.empty()) blames.insert(blames.end(), absent.loader.begin(), absent.loader.end());
  const bool is_alone = absent.loader.empty() && absent.phase.empty() && absent.own_gpu.empty();
  if (blames.empty() && is_alone) blames = absent.unrecorded;
  if (blames.empty()) return std::nullopt;

  Accusation made = accuse(facts, Finding::kNeverEntered, blames);
  bool is_unclear = false;  // they may wait for another rank themselves
  for (const std::uint32_t at : made.culprits) {
    const Reason reason = facts.where[at].reason;
    is_unclear |= reason == Reason::kControlPlane || reason == Reason::kCommunication;
  }
  if (is_unclear) made.verdict.confidence = Confidence::kInferred;
  const bool is_called =
      std::ranges::all_of(blames, [](const Blame& b) { return b.guilt == Guilt::kCalled; });
  const bool all_wait = made.victims.size() + 1 == facts.view.fleet().world_size;
  if (all_wait && blames.front().guilt == Guilt::kAbsent) {
    const std::uint32_t at = made.culprits.front();
    made.verdict.is_still = is_still(facts.view.rank(at).evidence, facts.where[at]);
  }
  if (is_called) {
    made.verdict.sentence = fmt::format("{} {} inside the call of {}{} and {} launched it",
                                        made.named, made.choose("is", "are"), made.operation,
                                        for_text(made.age), made.choose("has not", "have not"));
  } else {
    made.verdict.sentence =
        fmt::format("{} {} not entered {}{}", made.named, made.choose("has", "have"),
                    made.operation, for_text(made.age));
  }
  made.verdict.sentence += whereabouts_text(facts, made) + waiting_text(facts, made);
  if (facts.view.fleet().at_rest) add_unseen(facts, made.verdict);
  add_halted(facts, made.verdict);
  return made.verdict;
}

std::optional<Verdict> rule_halted(const Case& facts) {
  if (!has_pending(facts)) return std::nullopt;
  Verdict verdict;
  add_halted(facts, verdict);
  if (verdict.culprits.empty()) return std::nullopt;
  // rule_not_seen() names the operation that the unseen ranks are missing from.
  std::optional<Verdict> unseen = rule_not_seen(facts);
  if (unseen && !unseen->culprits.empty()) return unseen;
  verdict.finding = Finding::kNeverEntered;
  const std::vector<std::uint32_t> waiting = all_waiting(facts);
  verdict.victims = global_ranks(facts.view, waiting);
  verdict.sentence +=
      verdict.culprits.size() > 1 ? ", and wait for no rank" : ", and waits for no rank";
  return verdict;
}

}  // namespace robustrun::tracer
