#pragma once
// Standby workers on a node that has had no workers yet: on a spare node, for the workers of a node
// that it may replace; and for a run's first workers.
//
// Their list of modules comes from another node or from an earlier run. Each standby checks that
// script, interpreter and installed packages are the same here (docs/formats/standby.md). Its
// launch spec is planned as if the workers were started here now, and is compared again when a
// standby is used (spawn/standby_match.h).

#include <string>

#include "agent/node/node_context.h"
#include "agent/standby/standby_set.h"
#include "wire/messages/standby.h"

namespace robustrun::agent {

// Called on the agent's loop, while the node has no workers. `usable_cpus`: of this node. Does
// nothing in an agent that starts only its own command (NodeContext::own_command).
void keep_spare_standbys(NodeContext& node, StandbySet& standbys, const wire::KeepStandbys& order,
                         unsigned usable_cpus);
// Called on the agent's loop, only while `standbys.may_begin_warm()`. `list`: from an earlier run.
void begin_warm_workers(NodeContext& node, StandbySet& standbys, const wire::StartWorkers& order,
                        const std::string& list, unsigned usable_cpus);

}  // namespace robustrun::agent
