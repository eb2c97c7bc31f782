#pragma once
// Shared by all rules: makes a verdict from the ranks to blame, with operation, victims and
// evidence.
//
// `ats` always are indices for FleetView::rank(), ascending.

#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/rules.h"

namespace robustrun::tracer {

// An accusation in progress: the verdict without its sentence, and the parts of the sentence.
struct Accusation {
  Verdict verdict;
  std::vector<std::uint32_t> culprits;  // indices for FleetView::rank()
  std::vector<std::uint32_t> victims;  // the same
  std::string named;      // "rank 11 (node3, local 3)"
  std::string operation;  // "all_reduce #4182 (48 MB, group dp_2)"; with "and others" if several
  base::Nanos age{};      // of the longest wait in that operation
  [[nodiscard]] bool is_plural() const { return culprits.size() > 1; }
  [[nodiscard]] const char* choose(const char* one, const char* several) const {
    return is_plural() ? several : one;
  }
};

// Begins a verdict that names the ranks of `blames` (at least one). Its confidence is kExact if all
// members of the communicators in `blames` were seen, otherwise kInferred.
[[nodiscard]] Accusation accuse(const Case& facts, Finding finding, std::vector<Blame> blames);

// The age of a wait as shown to people; 0: unknown. At rest (rules.h), ages end with the newest
// record of any rank, and the true wait was longer. So a short age counts as unknown.
[[nodiscard]] base::Nanos age_to_tell(const Case& facts, base::Nanos age);

// Adds as victims all ranks that are inside an operation of communicator `comm`, and the ranks that
// wait for them. Needed for a culprit that has entered the operation, because no edge of the wait
// graph leads to it.
void add_members(const Case& facts, std::uint32_t comm, Accusation& accusation);

// "; it waits for data of source web, /data/web-0.bin": the first of the ranks `ats` that waits for
// training data by its own record; "; rank 3 waits for …" if `ats` has several ranks. Empty: no
// rank waits.
[[nodiscard]] std::string data_wait_text(const Case& facts, const std::vector<std::uint32_t>& ats);
// "; it is in load (train.py:87), data loader" and data_wait_text(). The first part is left out if
// it is unknown where the culprits are.
[[nodiscard]] std::string whereabouts_text(const Case& facts, const Accusation& accusation);
// "; 15 ranks wait for it".
[[nodiscard]] std::string waiting_text(const Case& facts, const Accusation& accusation);

// Adds the ranks `ats` to the culprits of `verdict`, their nodes to its nodes, and to its sentence:
// "; rank 2 (node0, local 2) has stopped calling". Leaves out ranks that `verdict` already names.
// If ranks are added, the confidence becomes kInferred. The two texts are the predicate's singular
// and plural.
void name_further(const Case& facts, std::vector<std::uint32_t> ats, std::string_view what_one_does,
                  std::string_view what_several_do, Verdict& verdict);
// Adds the ranks that have halted, by name_further().
void add_halted(const Case& facts, Verdict& verdict);
// At rest: adds the ranks that are inside operations that others have finished.
void add_left_behind(const Case& facts, Verdict& verdict);

// Claims of third parties about the ranks, at most kHearsayLines: "rank 3: NCCL's RAS considers it
// dead".
[[nodiscard]] std::vector<std::string> hearsay_lines(const FleetView& view,
                                                     const std::vector<std::uint32_t>& ats);
// Whether the process may still go on by itself: it uses or waits for a processor, waits for
// storage (unless one of its GPUs reports errors), does I/O, or its stack changes.
[[nodiscard]] bool is_moving(const Evidence& evidence);
// Whether the process only sleeps, or waits for a lock, in a line of the script: it uses no
// processor and no GPU, does no I/O, and none of its other threads, children and connections is
// active.
[[nodiscard]] bool is_still(const Evidence& evidence, const Whereabouts& where);
// The groups of equal stacks: "stacks: 3 ranks: step (train.py:90); rank 11: load (train.py:87),
// data loader"; empty if all stacks are equal.
[[nodiscard]] std::string stacks_text(const Case& facts);
// "ranks 12, 13 and 14 (…) are not where the other 12 are, in group pp_3": the ranks whose stack
// differs from the stack of most ranks, and the smallest group that contains them all, if there is
// one (ByteRobust, arXiv 2509.16293). Empty if all stacks are equal, or if no stack belongs to more
// than half of the ranks.
[[nodiscard]] std::string outliers_text(const Case& facts);
// The dead ranks (stopped ones if `guilt` is kStopped) that may be an unseen member for which other
// ranks wait: a communicator in which they wait lacks a member that the rank may be, or the rank
// has no record at all.
[[nodiscard]] std::vector<Blame> unplaced(const Case& facts, Guilt guilt);
// The members of `comm` whose progress is unknown, ascending.
[[nodiscard]] std::vector<base::Rank> unseen_members(const Case& facts, const Communicator& comm);
// The names of the ranks' nodes, each once, in natural order.
[[nodiscard]] std::vector<std::string> nodes_of(const FleetView& view,
                                                const std::vector<std::uint32_t>& ats);
// The ranks that are inside an operation.
[[nodiscard]] std::vector<std::uint32_t> all_waiting(const Case& facts);
[[nodiscard]] std::vector<base::Rank> global_ranks(const FleetView& view,
                                                   const std::vector<std::uint32_t>& ats);

}  // namespace robustrun::tracer
