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

// The facts that the orders and texts are made from.
struct CopyFacts {
  base::Attempt attempt;
  const JobSpec& spec;
  const Nodes& nodes;
  const Group& group;
  const CopyMap& copies;
  const ResumePoint& resume;
};

// True for a group of several nodes whose agents can all receive copies (NodeState::bulk).
[[nodiscard]] bool can_keep_copies(const CopyFacts& job);
// The places of the group, and whose copies each place has kept so far.
[[nodiscard]] SolveBackup backup_question(const CopyFacts& job);
// The agents of the group's nodes, by place.
[[nodiscard]] std::vector<CopyHolder> copy_holders(const CopyFacts& job);
// Whether the agent is connected, and is still the one that has the copies.
[[nodiscard]] bool is_there(const CopyFacts& job, const CopyHolder& holder);
// An order for each node of the group, by place, then for other nodes from which copies are
// fetched.
[[nodiscard]] std::vector<PlaceCopies> copy_orders(const CopyFacts& job);
// Ranks whose copies a keeper must save: their node is lost, or takes no part any more and is not
// saving them itself. Leaves out ranks that save_held() has handled (RankCopies::is_ordered).
[[nodiscard]] std::vector<base::Rank> orphaned_ranks(const CopyFacts& job);
// "n1 and n3": the nodes of these ranks.
[[nodiscard]] std::string owners_in_words(const CopyFacts& job,
                                          const std::vector<base::Rank>& ranks);
// The end of the sentence "the copies in memory of … are lost with": "it, as no other node has any
// yet", or "n3, which kept them". `gone`: the ranks.
[[nodiscard]] std::string loss_of_copies_in_words(const CopyFacts& job,
                                                  const std::vector<base::Rank>& gone);
// Why no machine should be taken from the job now: some ranks have no copy on another node. Empty:
// a machine may be taken.
[[nodiscard]] std::string unsecured_in_words(const CopyMap& copies);
// "of n0 by n2": a line for each node.
[[nodiscard]] std::vector<std::string> keepers_in_words(const CopyFacts& job);
// A decision that reports what became of the orders in CopyMap::saves.
[[nodiscard]] Decision saved_in_words(const CopyFacts& job);
// "using the newest committed checkpoint, of step 100 (g1-ab)"
[[nodiscard]] std::string fallback_in_words(const CopyFacts& job);

}  // namespace robustrun::supervisor
