#pragma once
// The hosts of a batch job of PBS, Grid Engine or LSF: its variables name them. How they are
// reached and what else the system knows of the job: launcher/allocation/. Slurm has
// cli/nodes/slurm.h.
//
//   PBS          PBS_JOBID, PBS_NODEFILE: a file with a host name on each line, once per slot
//   Grid Engine  JOB_ID, PE_HOSTFILE: a file with "HOST SLOTS QUEUE PROCESSORS" on each line
//   LSF          LSB_JOBID, LSB_DJOB_HOSTFILE: a file as PBS's; or LSB_MCPU_HOSTS: "HOST SLOTS …"
//
// Sources: qsub(1B) of PBS Professional and of Torque; sge_pe(5); LSF's environment variable
// reference. Slots are processors at most sites, so they are no number of workers.
//
// Reads the files through Surroundings::machine; pure otherwise.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "launcher/allocation/batch_job.h"
#include "launcher/hosts/host.h"

namespace robustrun::cli {

struct BatchHosts {
  // kNone: no such job, or options name other machines.
  launcher::BatchJob job{};
  std::string source;                 // "PBS_NODEFILE=/var/spool/pbs/aux/7": for messages
  std::vector<launcher::Host> hosts;  // in the job's order, each once; empty: this machine alone
  std::string ignored;                // another system whose variables are set, too
  std::string warning;                // the system's programs are missing; empty: they are there
};

// The first system of which all variables are set, in the order above. A task of a parallel start
// (mpirun, pbsdsh) has none: the run would start once per task. Errors are whole sentences.
[[nodiscard]] base::Result<BatchHosts> plan_batch_hosts(const Settings& settings,
                                                        const Surroundings& around);
// The job that this process is in, whatever options name; kNone: in none, or one without hosts.
[[nodiscard]] launcher::BatchJob batch_job_of(const Surroundings& around);

}  // namespace robustrun::cli
