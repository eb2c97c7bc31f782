#pragma once
// Standby workers that no worker of this node has preceded: on a spare node, for the workers of
// another node whose place it may take, and for a run's first workers.
//
// What they import was recorded on the other node, or by an earlier run; each standby checks that
// script, interpreter and installed packages are the same here (docs/formats/standby.md).
// Everything else is this node's own, as if the workers were started here, and is compared again
// when they are (spawn/standby_match.h).

#include <string>

#include "agent/node/node_context.h"
#include "agent/standby/standby_set.h"
#include "wire/messages/standby.h"

namespace robustrun::agent {

// On the agent's loop, while the node has no workers. `usable_cpus`: of this node. An agent that
// starts only its own command keeps no such standbys.
void keep_spare_standbys(NodeContext& node, StandbySet& standbys, const wire::KeepStandbys& order,
                         unsigned usable_cpus);
// On the agent's loop, only while `standbys.may_begin_warm()`. `list`: of an earlier run.
void begin_warm_workers(NodeContext& node, StandbySet& standbys, const wire::StartWorkers& order,
                        const std::string& list, unsigned usable_cpus);

}  // namespace robustrun::agent
