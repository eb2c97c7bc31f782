#pragma once
// Orders and texts about copies in memory, made from the job's memory. Pure. Internal to core/.

#include <string>
#include <vector>

#include "supervisor/core/job/state.h"

namespace robustrun::supervisor {

// True for groups of several nodes whose agents can all be reached by their peers.
[[nodiscard]] bool can_keep_copies(const JobMemory& job);
// The places of the group, and which place has kept whose copies so far.
[[nodiscard]] SolveBackup backup_question(const JobMemory& job);
// The agents of the group's nodes, by place.
[[nodiscard]] std::vector<CopyHolder> copy_holders(const JobMemory& job);
// The agent is connected, and is still the one that has the copies.
[[nodiscard]] bool is_there(const JobMemory& job, const CopyHolder& holder);
// An order for every node that sends, holds or fetches copies: those of the group in their order,
// then those from which copies are fetched.
[[nodiscard]] std::vector<PlaceCopies> copy_orders(const JobMemory& job);
// Ranks whose copies a keeper must save: their node is lost, or takes no part any more and is not
// saving them itself. Without those already ordered.
[[nodiscard]] std::vector<base::Rank> orphaned_ranks(const JobMemory& job);
// "n1 and n3": the nodes of these ranks.
[[nodiscard]] std::string owners_in_words(const JobMemory& job,
                                          const std::vector<base::Rank>& ranks);
// What lost the copies of the ranks `gone`, as the end of a sentence: "it, as no other node has any
// yet", or "n3, which kept them".
[[nodiscard]] std::string loss_of_copies_in_words(const JobMemory& job,
                                                  const std::vector<base::Rank>& gone);
// Why a machine should not be taken from the job just now; empty: it may be.
[[nodiscard]] std::string unsecured_in_words(const CopyMap& copies);
// "of n0 by n2": a line for each node.
[[nodiscard]] std::vector<std::string> keepers_in_words(const JobMemory& job);
// A decision that reports what became of the orders in job.copies.saves.
[[nodiscard]] Decision saved_in_words(const JobMemory& job);
// "using the newest committed checkpoint, of step 100 (g1-ab)"
[[nodiscard]] std::string fallback_in_words(const JobMemory& job);

}  // namespace robustrun::supervisor
