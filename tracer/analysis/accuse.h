#pragma once
// What all rules share: from who is blamed to a verdict with its operation, victims, evidence.

#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/rules.h"

namespace robustrun::tracer {

// An accusation under way: the verdict without its sentence, and what the sentence needs.
struct Accusation {
  Verdict verdict;
  std::vector<std::uint32_t> culprits;  // at
  std::vector<std::uint32_t> victims;
  std::string who;        // "rank 11 (node3, local 3)"
  std::string operation;  // "all_reduce #4182 (48 MB, group dp_2)"; "and others" when they differ
  base::Nanos age{};  // of the longest wait in that operation
  [[nodiscard]] bool is_plural() const { return culprits.size() > 1; }
  [[nodiscard]] const char* choose(const char* one, const char* several) const {
    return is_plural() ? several : one;
  }
};

// `blames`: at least one. Confidence is kExact when every member of the communicators concerned was
// seen, else kInferred.
[[nodiscard]] Accusation accuse(const Case& facts, Finding finding, std::vector<Blame> blames);

// How long a wait has lasted, for people; 0: not known. At rest ages end with the newest thing that
// anybody wrote down, soon after all had come to where they were.
[[nodiscard]] base::Nanos age_to_tell(const Case& facts, base::Nanos age);

// Makes victims of all who are inside an operation of the communicator, and of who waits for them:
// of a culprit that has entered, no edge of the graph tells.
void add_members(const Case& facts, std::uint32_t comm, Accusation& accusation);

// "; it is in train.py:87 data loader"; empty when nothing is known of where they are.
[[nodiscard]] std::string whereabouts_text(const Case& facts, const Accusation& accusation);
// "; 15 ranks wait for it".
[[nodiscard]] std::string waiting_text(const Case& facts, const Accusation& accusation);

// Names some more, of `ats`: "; rank 2 calls nothing any more". Those are left out that are named.
void name_further(const Case& facts, std::vector<std::uint32_t> ats, std::string_view what_one_does,
                  std::string_view what_several_do, Verdict& verdict);
// The ranks that have halted.
void add_halted(const Case& facts, Verdict& verdict);
// Of a job at rest: those who are inside what others have finished.
void add_left_behind(const Case& facts, Verdict& verdict);

// What others say of these ranks, at most kHearsayLines: "rank 3: NCCL's RAS considers it dead".
[[nodiscard]] std::vector<std::string> hearsay_lines(const FleetView& view,
                                                     const std::vector<std::uint32_t>& ats);
[[nodiscard]] bool is_moving(const Evidence& evidence);
// "3 ranks: train.py:90; rank 11: train.py:87 data loader"; empty when fewer than two differ.
[[nodiscard]] std::string stacks_text(const Case& facts);
// "ranks 12, 13 and 14 (…) are elsewhere than the other 12, in group pp_3": the smallest group that
// holds everybody whose stack differs from most ranks' (ByteRobust); empty when there is none.
[[nodiscard]] std::string outliers_text(const Case& facts);
// Of those who are dead, or stopped, and whom nobody waits for as far as is known: who may be a
// member of a communicator that lacks one all the same.
[[nodiscard]] std::vector<Blame> unplaced(const Case& facts, Guilt guilt);
// Members of `comm` without a record of it, in order: what they do in it is not known.
[[nodiscard]] std::vector<base::Rank> unseen_members(const Case& facts, const Communicator& comm);
// Names of the nodes of these ranks, each once, in natural order.
[[nodiscard]] std::vector<std::string> nodes_of(const FleetView& view,
                                                const std::vector<std::uint32_t>& ats);
// Everybody who is inside an operation, ascending.
[[nodiscard]] std::vector<std::uint32_t> all_waiting(const Case& facts);
[[nodiscard]] std::vector<base::Rank> global_ranks(const FleetView& view,
                                                   const std::vector<std::uint32_t>& ats);

}  // namespace robustrun::tracer
