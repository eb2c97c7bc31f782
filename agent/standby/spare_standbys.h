#pragma once
// Standby workers of a node that has no workers: for those of another node, whose place it may
// take.
//
// What they import was recorded there; that script, interpreter and installed packages are the same
// here is for the standby to see (docs/formats/standby.md). All else is of this node, as if the
// workers were started here, and is compared once more when they are (standby_match.h).

#include "agent/node/node_context.h"
#include "agent/standby/standby_set.h"
#include "wire/messages/standby.h"

namespace robustrun::agent {

// On the agent's loop, while the node has no workers. `usable_cpus`: of this node. An agent that
// starts its own command alone keeps none.
void keep_spare_standbys(NodeContext& node, StandbySet& standbys, const wire::KeepStandbys& order,
                         unsigned usable_cpus);

}  // namespace robustrun::agent
