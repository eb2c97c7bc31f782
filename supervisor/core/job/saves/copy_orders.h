#pragma once
// Orders and texts about copies in memory. Pure.

#include <string>
#include <vector>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/saves/copy_map.h"
#include "supervisor/core/job/saves/resume_point.h"
#include "supervisor/core/types/actions.h"

namespace robustrun::supervisor {

// What they are made from.
struct CopyFacts {
  base::Attempt attempt;
  const JobSpec& spec;
  const Nodes& nodes;
  const Group& group;
  const CopyMap& copies;
  const ResumePoint& resume;
};

// True for groups of several nodes whose agents can all be reached by their peers.
[[nodiscard]] bool can_keep_copies(const CopyFacts& job);
// The places of the group, and which place has kept whose copies so far.
[[nodiscard]] SolveBackup backup_question(const CopyFacts& job);
// The agents of the group's nodes, by place.
[[nodiscard]] std::vector<CopyHolder> copy_holders(const CopyFacts& job);
// The agent is connected, and is still the one that has the copies.
[[nodiscard]] bool is_there(const CopyFacts& job, const CopyHolder& holder);
// An order for every node that sends, holds or fetches copies: those of the group in their order,
// then those from which copies are fetched.
[[nodiscard]] std::vector<PlaceCopies> copy_orders(const CopyFacts& job);
// Ranks whose copies a keeper must save: their node is lost, or takes no part any more and is not
// saving them itself. Without those already ordered.
[[nodiscard]] std::vector<base::Rank> orphaned_ranks(const CopyFacts& job);
// "n1 and n3": the nodes of these ranks.
[[nodiscard]] std::string owners_in_words(const CopyFacts& job,
                                          const std::vector<base::Rank>& ranks);
// What lost the copies of the ranks `gone`, as the end of a sentence: "it, as no other node has any
// yet", or "n3, which kept them".
[[nodiscard]] std::string loss_of_copies_in_words(const CopyFacts& job,
                                                  const std::vector<base::Rank>& gone);
// Why a machine should not be taken from the job just now; empty: it may be.
[[nodiscard]] std::string unsecured_in_words(const CopyMap& copies);
// "of n0 by n2": a line for each node.
[[nodiscard]] std::vector<std::string> keepers_in_words(const CopyFacts& job);
// A decision that reports what became of the orders in the map's `saves`.
[[nodiscard]] Decision saved_in_words(const CopyFacts& job);
// "using the newest committed checkpoint, of step 100 (g1-ab)"
[[nodiscard]] std::string fallback_in_words(const CopyFacts& job);

}  // namespace robustrun::supervisor
