#include "launcher/slurm/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"

namespace robustrun::launcher {
namespace {

// Slurm's variables that identify the cluster and the user.
constexpr std::array<std::string_view, 5> kKept = {
    "SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_WORKING_CLUSTER", "SLURM_JWT"};
constexpr std::array<std::string_view, 5> kPrefixes = {"SLURM_", "SLURMD_", "SRUN_", "SBATCH_",
                                                       "SALLOC_"};

bool is_inherited(std::string_view name) {
  if (name == kAgentOfVariable) return false;
  return std::ranges::find(kKept, name) != kKept.end() ||
         std::ranges::none_of(kPrefixes,
                              [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Escapes %n and the like, which srun would replace in file names.
std::string plain(std::string_view path) {
  std::string out;
  for (const char c : path) out.append(c == '%' ? 2 : 1, c);
  return out;
}

std::string step_name(const SlurmOptions& options) { return "robustrun-" + options.run_id; }

}  // namespace

const std::vector<std::string>& agent_step_options() {
  static const std::vector<std::string> options = {"--overlap",  "--mpi=none", "--cpu-bind=none",
                                                   "--mem=0",    "--chdir=/",  "--export=ALL",
                                                   "--input=all"};
  return options;
}

std::vector<std::string> srun_argv(const SlurmOptions& options,
                                   const std::vector<std::string>& nodes, unsigned number) {
  std::vector<std::string> argv = {"srun",
                                   "--jobid=" + options.job,
                                   fmt::format("--nodes={}", nodes.size()),
                                   fmt::format("--ntasks={}", nodes.size()),
                                   "--ntasks-per-node=1",
                                   "--nodelist=" + base::join(nodes, ","),
                                   "--job-name=" + step_name(options),
                                   "--no-kill",
                                   "--kill-on-bad-exit=0",
                                   "--wait=0"};
  argv.insert(argv.end(), agent_step_options().begin(), agent_step_options().end());
  argv.insert(argv.end(),
              {fmt::format("--output={}/agent.{}.%n.log", plain(options.folder), number),
               options.executable, "agent", "--stdin-credential"});
  return argv;
}

std::string agent_log(const SlurmOptions& options, unsigned number, std::uint32_t node) {
  return fmt::format("{}/agent.{}.{}.log", options.folder, number, node);
}

std::string srun_log(const SlurmOptions& options, unsigned number) {
  return fmt::format("{}/srun.{}.log", options.folder, number);
}

std::vector<std::string> srun_environment(const SlurmOptions& options,
                                          const std::vector<std::string>& own) {
  std::vector<std::string> environment;
  for (const std::string& entry : own) {
    if (is_inherited(std::string_view(entry).substr(0, entry.find('=')))) {
      environment.push_back(entry);
    }
  }
  environment.push_back(fmt::format("{}={}", kAgentOfVariable, options.run_id));
  return environment;
}

std::vector<std::string> show_job_argv(const SlurmOptions& options) {
  // Seconds need no time zone, and are the same hour when clocks go back.
  return {"/usr/bin/env",
          "SLURM_TIME_FORMAT=%s",
          options.commands + "/scontrol",
          "show",
          "job",
          "--oneliner",
          options.job};
}

std::vector<std::string> list_steps_argv(const SlurmOptions& options) {
  return {options.commands + "/squeue", "--steps", "--jobs=" + options.job, "--noheader",
          "--format=%i %j"};
}

std::vector<std::string> own_steps(const SlurmOptions& options, std::string_view listed) {
  std::vector<std::string> steps;
  for (const std::string_view line : base::split(listed, '\n')) {
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    if (base::trim(line.substr(blank)) == step_name(options)) {
      steps.emplace_back(line.substr(0, blank));
    }
  }
  return steps;
}

std::vector<std::string> cancel_argv(const SlurmOptions& options,
                                     const std::vector<std::string>& steps) {
  // SIGKILL, because agents take a SIGTERM for notice about their node.
  std::vector<std::string> argv = {options.commands + "/scancel", "--signal=KILL"};
  argv.insert(argv.end(), steps.begin(), steps.end());
  return argv;
}

std::vector<std::string> job_nodes_argv(const SlurmOptions& options) {
  return {options.commands + "/squeue", "--jobs=" + options.job, "--noheader", "--format=%N"};
}

std::vector<std::string> node_states_argv(const SlurmOptions& options,
                                          const std::vector<std::string>& nodes) {
  return {options.commands + "/sinfo", "--Node", "--noheader", "--nodes=" + base::join(nodes, ","),
          "--format=%N %T"};
}

std::vector<std::string> unusable_nodes(std::string_view listed) {
  std::vector<std::string> found;
  for (const std::string_view line : base::split(listed, '\n')) {
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const std::string_view state = base::trim(line.substr(blank));
    // A star marks a node that does not respond.
    const bool unusable = state.ends_with('*') || state.starts_with("down") ||
                          state.starts_with("fail") || state.starts_with("power") ||
                          state.starts_with("unk");
    std::string entry = fmt::format("{} {}", line.substr(0, blank), state);
    // A node is listed once per partition.
    if (unusable && std::ranges::find(found, entry) == found.end()) {
      found.push_back(std::move(entry));
    }
  }
  return found;
}

}  // namespace robustrun::launcher
