#pragma once
// Agents inside a Slurm allocation: one srun for all that are ordered together, one more for each
// that is started again (slurm_step.h). An agent that lost its srun goes on; so do all of them when
// we die.
//
// A new agent ends an older one of the run on its node by itself: Slurm can
// only end whole steps. kill_all() does that, by scancel, with the steps of every supervisor of the
// run.

#include <memory>
#include <vector>

#include "launcher/agent_launcher.h"
#include "launcher/hosts/host.h"
#include "launcher/slurm/command.h"

namespace robustrun::base {
class BlockingPool;
}

namespace robustrun::launcher {

// `nodes` by NodeId, named as Slurm does. `pool`: for Slurm's programs and name look-up.
// Credentials of orders are lines of wire/tls/credential.h.
std::unique_ptr<AgentLauncher> make_slurm_launcher(boost::asio::any_io_executor executor,
                                                   base::BlockingPool& pool,
                                                   std::vector<Host> nodes, SlurmOptions options);

}  // namespace robustrun::launcher
