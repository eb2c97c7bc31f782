#pragma once
// What a job's memory says of copies, as orders and words. Pure. Internal to core/.

#include <string>
#include <vector>

#include "supervisor/core/job/state.h"

namespace robustrun::supervisor {

// Over several nodes whose agents can all be reached; nothing else has copies at a peer.
[[nodiscard]] bool can_keep_copies(const JobMemory& job);
// Who is who in the group, and who kept whose copies so far.
[[nodiscard]] SolveBackup backup_question(const JobMemory& job);
[[nodiscard]] std::vector<CopyHolder> copy_holders(const JobMemory& job);
// The agent is there, and is still the one that has the copies.
[[nodiscard]] bool is_there(const JobMemory& job, const CopyHolder& holder);
// For every node that sends, holds or fetches, the group's in their order; the others hold what is
// fetched from them.
[[nodiscard]] std::vector<PlaceCopies> copy_orders(const JobMemory& job);
// Ranks whose node is lost, or takes no part any more and does not save them itself just now, and
// that were not ordered to be saved.
[[nodiscard]] std::vector<base::Rank> orphaned_ranks(const JobMemory& job);
// "n1 and n3", of which ranks were or are the nodes.
[[nodiscard]] std::string owners_in_words(const JobMemory& job,
                                          const std::vector<base::Rank>& ranks);
// "it, because no other node has any yet", or "n3, which kept them"
[[nodiscard]] std::string loss_of_copies_in_words(const JobMemory& job,
                                                  const std::vector<base::Rank>& gone);
// Why a machine should not be taken from the job just now; empty: it may.
[[nodiscard]] std::string unsecured_in_words(const CopyMap& copies);
// "of n0 by n2": who keeps whose.
[[nodiscard]] std::vector<std::string> keepers_in_words(const JobMemory& job);
// Decision of what became of the orders in job.copies.saves.
[[nodiscard]] Decision saved_in_words(const JobMemory& job);
// "the checkpoint of step 100 (g1-ab) is gone on from"
[[nodiscard]] std::string fallback_in_words(const JobMemory& job);

}  // namespace robustrun::supervisor
