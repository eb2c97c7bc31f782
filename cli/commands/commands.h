#pragma once
// The subcommands, one file each, and how one is chosen. Each prints, and returns the exit code.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "cli/plan/plan.h"
#include "cli/text/terminal.h"

namespace robustrun::cli {

enum class Command : std::uint8_t {
  kRun,
  kReport,
  kInject,
  kResume,
  kStatus,
  kTop,
  kStop,
  kAttach,
  kSubmit,
  kHelp,
  kVersion,
  kCheck,
  kPlan,
  kDiagnose,
  kNodes,
  kPolicy,
  kUpdate,
  kReplay,
  kCkpt,
  kCache,
  kData,
  kSim,
  kLs,
  kLogs,
  kRm,
  kDemo,
  kDoctor,
  kCompletion,
  kRequeue,
  kKubernetes
};

struct Choice {
  Command command = Command::kRun;
  std::span<const std::string> argv;  // the caller's memory, without the subcommand's name
  std::string passed_over;  // why a program of the subcommand's name is not started; else empty
};

// Chooses by the first word of `argv` (without the program's name). A program of that name in the
// working directory (a file, or a folder with a __main__.py) wins over the subcommand, unless it
// cannot be read or another user put it there. If robustrun is called by a name of torch's
// (is_name_of_torch()), there are no subcommands. Pure, except for that look at the directory.
[[nodiscard]] Choice choose_command(std::span<const std::string> argv, const Surroundings& around);

// `announce_fd`: in the supervisor of a detached run, the socket on which it announces the run
// (detach.h); otherwise -1.
int run_command(std::span<const std::string> argv, const Surroundings& around,
                int announce_fd = -1);
int report_command(std::span<const std::string> argv, const Surroundings& around);
int inject_command(std::span<const std::string> argv, const Surroundings& around);
int resume_command(std::span<const std::string> argv, const Surroundings& around,
                   int announce_fd = -1);
int status_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun top [RUN]`: a live view of a run's ranks.
int top_command(std::span<const std::string> argv, const Surroundings& around);
int stop_command(std::span<const std::string> argv, const Surroundings& around);
int k8s_command(std::span<const std::string> argv, const Surroundings& around);
int attach_command(std::span<const std::string> argv, const Surroundings& around);
int submit_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun requeue [RUN]`: queues this batch job again; in Slurm, without the hosts that failed
// its run.
int requeue_command(std::span<const std::string> argv, const Surroundings& around);
int help_command(std::span<const std::string> argv, const Surroundings& around);
int version_command();
// `robustrun check [options]`: takes the options of a run, and ends once the nodes are checked.
int check_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun plan [options]`: which ranks each host would get.
int plan_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun ckpt VERB`: lists, verifies, repairs, prunes, pins and exports checkpoints.
int ckpt_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun data VERB FILE`: plan: how ranks share samples; prepare: tokenizes; bench: measures
// how fast batches are read; audit: checks that each sample was given once.
int data_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun cache VERB`: manages the cache.
int cache_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun diagnose [RUN | --from PATH...]`: which rank blocks a job, from the live job or from
// files.
int diagnose_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun nodes [HOST...]`: what earlier runs noted about the hosts.
int nodes_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun policy [options]`: what would be done about faults, in sentences.
int policy_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun update [RUN]`: new code, variables or arguments for an active run.
int update_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun replay [options] [SCRIPT...]`: finds the machine that computes wrongly.
int replay_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun sim [options]`: the simulated ETTR of a job on a cluster.
int sim_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun demo`: a training run that loses a rank and recovers.
int demo_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun doctor`: what works on this machine, or on the named hosts.
int doctor_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun completion SHELL`: the script with which a shell completes command lines.
int completion_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun ls`: this user's runs.
int ls_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun logs [RUN]`: the workers' output, from their files.
int logs_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun rm RUN...`: removes runs that ended.
int rm_command(std::span<const std::string> argv, const Surroundings& around);
// The descriptor that is the channel of a process started by robustrun.
inline constexpr int kChannelFd = 3;
// `robustrun agent`, hidden: started by a supervisor with the channel at kChannelFd or, with
// --stdin-credential, with a line on standard input that holds the address to connect to.
// --list-gpus, --gpu-states, --watch-gpus and --try-plugin: helper processes of an agent
// (agent/gpu/gpu_list.h, gpu_state.h, health/nvml_health.h, spawn/profiler_slot.h). --doctor: one
// host's part of `robustrun doctor --hosts` (doctor/request.h).
int agent_command(std::string_view option);

// Carries out the planned run: leads it, or joins the machine that leads. Returns the exit code
// when the run has ended.
int carry_out(RunPlan plan, const Surroundings& around);

// All of main(). `argv`: with the program's name.
int robustrun_main(const std::vector<std::string>& argv);

}  // namespace robustrun::cli
