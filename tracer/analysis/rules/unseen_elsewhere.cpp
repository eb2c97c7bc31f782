// R2 by stacks: a member has no record of an operation that others are inside, because it has not
// reached its first one yet, and its stack shows what keeps it.

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

struct WithoutRecord {
  std::vector<std::uint32_t> elsewhere;  // threads outside any call of torch.distributed
  bool is_all = true;  // these are all of the members without a record
};

WithoutRecord without_record(const Case& facts, const Communicator& comm) {
  std::vector<std::uint32_t> seen;  // members without a record that have a snapshot
  for (const base::Rank rank : facts.view.missing_members(comm)) {
    if (const auto at = facts.view.find(rank)) seen.push_back(*at);
  }
  for (const Member& member : comm.members) {
    if (!member.counts) seen.push_back(member.at);
  }
  WithoutRecord unseen;
  for (const std::uint32_t at : seen) {
    const Reason reason = facts.where[at].reason;
    const bool is_calling = reason == Reason::kCommunication || reason == Reason::kControlPlane;
    const bool is_told = reason != Reason::kUnknown && reason != Reason::kOwnGpu;
    if (is_told && !is_calling) unseen.elsewhere.push_back(at);
  }
  std::ranges::sort(unseen.elsewhere);
  unseen.is_all = unseen.elsewhere.size() == comm.uncounted;
  return unseen;
}

Finding finding_of(const Case& facts, const std::vector<std::uint32_t>& ats) {
  const auto all_are = [&](auto is_it) {
    return std::ranges::all_of(ats,
                               [&](std::uint32_t at) { return is_it(facts.where[at].reason); });
  };
  if (all_are(is_long_phase)) return Finding::kLongPhase;
  if (all_are([](Reason reason) { return reason == Reason::kDataLoader; })) {
    return Finding::kInputStall;
  }
  return Finding::kNeverEntered;
}

}  // namespace

std::optional<Verdict> rule_unseen_elsewhere(const Case& facts) {
  for (const Wait& wait : facts.graph.waits()) {  // the longest first
    if (!std::ranges::binary_search(facts.graph.unseen(), wait.comm)) continue;
    const Communicator& comm = facts.view.comms()[wait.comm];
    const WithoutRecord unseen = without_record(facts, comm);
    if (unseen.elsewhere.empty()) continue;
    std::vector<Blame> blames;
    for (const std::uint32_t at : unseen.elsewhere) {
      blames.push_back({at, Guilt::kAbsent, wait.comm, wait.ordinal, {}, wait.age});
    }
    Accusation made = accuse(facts, finding_of(facts, unseen.elsewhere), blames);
    // Otherwise, other members without a record may be what keeps them.
    made.verdict.confidence = unseen.is_all ? Confidence::kExact : Confidence::kInferred;
    made.verdict.lasting = wait.age;
    add_members(facts, wait.comm, made);
    made.verdict.sentence =
        fmt::format("{} {} not entered {}{}", made.named, made.choose("has", "have"),
                    made.operation, for_text(made.age)) +
        whereabouts_text(facts, made) + waiting_text(facts, made);
    return made.verdict;
  }
  return std::nullopt;
}

}  // namespace robustrun::tracer
