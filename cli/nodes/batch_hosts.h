#pragma once
// The hosts of a batch job of PBS, Grid Engine or LSF, as its variables name them.
// launcher/allocation/ reaches the hosts and asks the system about the job. For Slurm see
// cli/nodes/slurm.h.
//
//   PBS          PBS_JOBID, PBS_NODEFILE: a file with a host name on each line, once per slot
//   Grid Engine  JOB_ID, PE_HOSTFILE: a file with "HOST SLOTS QUEUE PROCESSORS" on each line
//   LSF          LSB_JOBID, LSB_DJOB_HOSTFILE: a file as PBS's; or LSB_MCPU_HOSTS: "HOST SLOTS …"
//
// Sources: qsub(1B) of PBS Professional and of Torque; sge_pe(5); LSF's environment variable
// reference. A slot usually is a processor, so slots do not give the number of workers.
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

// Finds the first system, in the order above, whose variables are all set. Finds none in a task of
// a parallel start (mpirun, pbsdsh), because the run would start once per task. Errors are whole
// sentences.
[[nodiscard]] base::Result<BatchHosts> plan_batch_hosts(const Settings& settings,
                                                        const Surroundings& around);
// The job that contains this process, whatever the options name; kNone: there is no job, or it
// names no hosts.
[[nodiscard]] launcher::BatchJob batch_job_of(const Surroundings& around);

}  // namespace robustrun::cli
