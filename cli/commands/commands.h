#pragma once
// The subcommands, one file each (<name>_command.cpp), and how one is chosen. Each prints and
// returns the exit code.

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
  kSim,
  kLs,
  kLogs,
  kRm,
  kDemo
};

struct Choice {
  Command command = Command::kRun;
  std::span<const std::string> argv;  // without the subcommand's name
};

// `argv` without the program's name. A subcommand is its first word, unless a program of that name
// (a file, or a folder with a __main__.py) is in the working directory; called as torchrun there
// are none. Pure but for that question.
[[nodiscard]] Choice choose_command(std::span<const std::string> argv, const Surroundings& around);

// `announce_fd`: this process is the supervisor of a detached run, and whoever started it reads
// there (detach.h); -1: it is not.
int run_command(std::span<const std::string> argv, const Surroundings& around,
                int announce_fd = -1);
int report_command(std::span<const std::string> argv, const Surroundings& around);
int inject_command(std::span<const std::string> argv, const Surroundings& around);
int resume_command(std::span<const std::string> argv, const Surroundings& around,
                   int announce_fd = -1);
int status_command(std::span<const std::string> argv, const Surroundings& around);
int stop_command(std::span<const std::string> argv, const Surroundings& around);
int attach_command(std::span<const std::string> argv, const Surroundings& around);
int submit_command(std::span<const std::string> argv, const Surroundings& around);
int help_command(std::span<const std::string> argv, const Surroundings& around);
int version_command();
// `robustrun check [options]`: as a run with the same options, which ends when its nodes are
// checked.
int check_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun plan [options]`: which ranks each host would get.
int plan_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun ckpt VERB`: what checkpoints are there, are they sound, and which of them stay?
int ckpt_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun cache VERB`: what is kept for faster starts, and is it sound?
int cache_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun diagnose [RUN | --from PATH...]`: whom a job waits for, by asking it or by its files.
int diagnose_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun nodes [HOST...]`: what earlier runs have learnt of the hosts.
int nodes_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun policy [options]`: what would be done about faults, in words.
int policy_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun update [RUN]`: other code, environment or arguments for a run that goes on.
int update_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun replay [options] [SCRIPT...]`: which machine it is that makes a job go wrong.
int replay_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun sim [options]`: what a job's ETTR would be on a cluster.
int sim_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun demo`: a training that loses a rank and recovers.
int demo_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun ls`: this user's runs.
int ls_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun logs [RUN]`: the workers' output, from their files.
int logs_command(std::span<const std::string> argv, const Surroundings& around);
// `robustrun rm RUN...`: removes runs that ended.
int rm_command(std::span<const std::string> argv, const Surroundings& around);
// Where a process that one of ours starts finds its channel.
inline constexpr int kChannelFd = 3;
// `robustrun agent`, hidden: started by a supervisor with the channel at kChannelFd, or, with
// --stdin-credential, with a line on standard input that says where to call. --list-gpus,
// --gpu-states and --watch-gpus: helpers of an agent (agent/gpu/gpu_list.h, gpu_state.h,
// nvml_health.h).
int agent_command(std::string_view option);

// Carries out a plan: joins a run that another machine leads, or leads one.
int carry_out(RunPlan plan, const Surroundings& around);

// All of main(). `argv` with the program's name.
int robustrun_main(const std::vector<std::string>& argv);

}  // namespace robustrun::cli
