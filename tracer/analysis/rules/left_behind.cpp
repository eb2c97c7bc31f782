// R5: a rank is still inside an operation that no member can leave before all have entered it, and
// either most others have left it, or one of them has even finished the next such operation, which
// needed all members again: the fault is at that rank. At rest it is enough that one member has
// left, because all had the time to.

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

std::size_t finished_by(const Communicator& comm, std::uint64_t ordinal) {
  return static_cast<std::size_t>(std::ranges::count_if(
      comm.members, [&](const Member& m) { return m.counts && m.ordinal > ordinal; }));
}

// Whether a member has finished this operation and the next, where the next synchronises all
// members.
bool is_left_far_behind(const FleetView& view, const Communicator& comm, std::uint64_t ordinal) {
  const std::optional<Signature> next = view.signature(comm, ordinal + 1);
  if (!next || !synchronises_all(next->kind)) return false;
  return std::ranges::any_of(comm.members,
                             [&](const Member& m) { return m.counts && m.ordinal > ordinal + 1; });
}

// Whether the rank's kernel runs on all channels, so that the GPU is what hangs.
bool is_in_kernel(const Communicator& comm, std::uint32_t at) {
  for (const Member& member : comm.members) {
    if (member.at != at || member.pending == nullptr) continue;
    return member.pending->channels > 0 &&
           member.pending->channels_started >= member.pending->channels;
  }
  return false;
}

// The ranks that are behind with sufficient certainty.
std::vector<Blame> left_behind(const Case& facts) {
  std::vector<Blame> behind;
  for (const Blame& blame : facts.graph.blames()) {
    if (blame.guilt != Guilt::kBehind) continue;
    const Communicator& comm = facts.view.comms()[blame.comm];
    const bool is_received = blame.signature.kind == OpKind::kSend;
    const Signature signature = facts.view.signature(comm, blame.ordinal).value_or(Signature{});
    if (!is_received && !synchronises_all(signature.kind)) continue;
    const bool is_alone = finished_by(comm, blame.ordinal) * 2 > comm.members.size();
    const bool is_clear = is_alone || facts.view.fleet().at_rest ||
                          is_left_far_behind(facts.view, comm, blame.ordinal);
    if (is_clear) behind.push_back(blame);
  }
  return behind;
}

}  // namespace

std::optional<Verdict> rule_left_behind(const Case& facts) {
  const std::vector<Blame> behind = left_behind(facts);
  if (behind.empty()) return std::nullopt;
  const bool is_proved = std::ranges::all_of(behind, [&](const Blame& blame) {
    return is_in_kernel(facts.view.comms()[blame.comm], blame.at);
  });
  Accusation made = accuse(facts, Finding::kLeftBehind, behind);
  if (!is_proved) made.verdict.confidence = Confidence::kInferred;
  const Blame& first = behind.front();
  const Communicator& comm = facts.view.comms()[first.comm];
  made.verdict.sentence = fmt::format("{} {} still inside {}{}", made.named,
                                      made.choose("is", "are"), made.operation, for_text(made.age));
  made.verdict.sentence += first.signature.kind == OpKind::kSend
                               ? ", which has been received"
                               : fmt::format(": {} of {} members have finished it",
                                             finished_by(comm, first.ordinal), comm.size);
  made.verdict.sentence += waiting_text(facts, made);
  return made.verdict;
}

void add_left_behind(const Case& facts, Verdict& verdict) {
  if (!facts.view.fleet().at_rest) return;
  std::vector<std::uint32_t> ats;
  for (const Blame& blame : left_behind(facts)) ats.push_back(blame.at);
  name_further(facts, ats, "is inside an operation that others have finished",
               "are inside operations that others have finished", verdict);
}

}  // namespace robustrun::tracer
