#pragma once
// Agents inside a Slurm allocation: one srun for all agents that are ordered in one turn of the
// loop, so also for later ones in place of lost ones (slurm/step.h). Agents survive the loss of
// their srun, and our death.
//
// Slurm can only end whole steps. So a new agent itself ends an older agent of the run on its node.
// kill_all() ends whole steps, with scancel: those of every supervisor of the run.

#include <memory>
#include <vector>

#include "launcher/agent_launcher.h"
#include "launcher/hosts/host.h"
#include "launcher/slurm/command.h"

namespace robustrun::base {
class BlockingPool;
}

namespace robustrun::launcher {

// `nodes`: by NodeId, with Slurm's names. `pool`: for Slurm's programs and name look-up.
// Credentials of orders are lines of wire/tls/credential.h.
std::unique_ptr<AgentLauncher> make_slurm_launcher(boost::asio::any_io_executor executor,
                                                   base::BlockingPool& pool,
                                                   std::vector<Host> nodes, SlurmOptions options);

}  // namespace robustrun::launcher
