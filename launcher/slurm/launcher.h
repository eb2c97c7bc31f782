#pragma once
// Agents inside a Slurm allocation. One srun starts all agents that are ordered in one turn of the
// loop (slurm/step.h); agents that are started again later get another srun. Agents survive the
// loss of their srun, and our death.
//
// Slurm can only end whole steps. So a new agent itself ends an older agent of the run on its node.
// kill_all() ends all steps of the run with scancel, including those of earlier supervisors.

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
// LaunchOrder::credential is a line of wire/tls/credential.h.
std::unique_ptr<AgentLauncher> make_slurm_launcher(boost::asio::any_io_executor executor,
                                                   base::BlockingPool& pool,
                                                   std::vector<Host> nodes, SlurmOptions options);

}  // namespace robustrun::launcher
