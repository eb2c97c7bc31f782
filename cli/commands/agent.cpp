#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "agent/agent.h"
#include "agent/gpu/gpu_list.h"
#include "agent/gpu/gpu_state.h"
#include "agent/health/nvml_health.h"
#include "agent/node/limits.h"
#include "agent/read_credential.h"
#include "agent/spawn/profiler_slot.h"
#include "base/core/build_id.h"
#include "base/io/fd.h"
#include "base/io/marked.h"
#include "cli/commands/commands.h"
#include "cli/doctor/request.h"
#include "cli/plan/program.h"
#include "launcher/limits.h"
#include "launcher/slurm/command.h"

namespace robustrun::cli {
namespace {

constexpr int kExitFailed = 1;
constexpr base::Generation kFirstGeneration{1};
constexpr const char* kNodeVariable = "SLURMD_NODENAME";

// Variables that Slurm sets differently for each task.
bool is_of_node(std::string_view name) {
  constexpr std::array<std::string_view, 4> kDevices = {
      "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"};
  return name.starts_with("SLURM") || std::ranges::find(kDevices, name) != kDevices.end();
}

// An agent that srun started: one of several with the same credential, or that of a job which
// brings a node in place of a lost one.
base::Status take_place(const Surroundings& around, agent::RemoteAgent& start) {
  const std::string node = around.variable(kNodeVariable).value_or("");
  const std::string run = around.variable(launcher::kAgentOfVariable).value_or("");
  start.self.host = node;
  if (!start.credential.places.empty()) RR_TRY(wire::take_place(start.credential, node));
  // An older agent may have been given up because it hangs, and only this one can end it.
  if (start.credential.generation > kFirstGeneration) {
    base::kill_marked({{fmt::format("{}={}", kNodeVariable, node),
                        fmt::format("{}={}", launcher::kAgentOfVariable, run)},
                       "agent"},
                      agent::kPredecessorMax);
  }
  for (const std::string& entry : around.environment) {
    if (is_of_node(std::string_view(entry).substr(0, entry.find('=')))) {
      start.node_environment.push_back(entry);
    }
  }
  start.ends_with_node = true;
  return {};
}

// The launcher shows stderr.
int end_with(int exit_code, std::string_view what) {
  const std::string line = fmt::format("{}{}\n", launcher::kAgentSays, what);
  static_cast<void>(base::write_all(STDERR_FILENO, line));
  return exit_code;
}

}  // namespace

int agent_command(std::string_view option) {
  if (option == "--list-gpus") {
    print(agent::list_gpus());
    return 0;
  }
  if (option == "--try-plugin") {
    const char* const name = ::getenv("ROBUSTRUN_TRY_PLUGIN");
    const char* const folder = ::getenv("ROBUSTRUN_TRY_FOLDER");
    print(agent::try_plugin(name == nullptr ? "" : name, folder == nullptr ? "" : folder));
    ::_exit(0);  // its destructors are of no interest
  }
  if (option == "--doctor") return answer_doctor_request();
  if (option == "--gpu-states") {
    print(agent::list_gpu_states());
    return 0;
  }
  if (option == "--watch-gpus") {
    agent::watch_gpus(
        [](std::string_view text) { return base::write_all(STDOUT_FILENO, text).has_value(); });
    return 0;
  }
  if (option.empty()) return agent::run_agent(base::Fd(kChannelFd));
  auto credential = agent::read_credential();
  if (!credential) return end_with(kExitFailed, credential.error().what);
  if (!credential->build.empty() && credential->build != base::build_id()) {
    return end_with(launcher::kExitOtherBuild,
                    "another build than the supervisor's is installed here");
  }
  agent::RemoteAgent start;
  if (!credential->count.empty()) {
    const auto workers =
        count_workers(credential->count, "--nproc-per-node=" + credential->count,
                      look_around("robustrun", this_machine()), credential->interpreter);
    if (!workers) {
      // Another error may be this machine's: a driver or a file system that is out for a moment.
      const bool is_input = workers.error().code == base::Errc::kInvalidArgument;
      return end_with(is_input ? launcher::kExitBadInput : kExitFailed, workers.error().what);
    }
    start.self.slots = *workers;
  }
  start.credential = *std::move(credential);
  // srun closes our standard input at once.
  start.watch_stdin = start.credential.places.empty() && start.credential.node.has_value();
  if (!start.watch_stdin) {
    const auto placed = take_place(look_around("robustrun", this_machine()), start);
    if (!placed) return end_with(kExitFailed, placed.error().what);
  }
  start.self.node = start.credential.node;
  start.self.generation = start.credential.generation;
  // Our launchers take these codes for an agent that has not started.
  const int code = agent::run_remote_agent(std::move(start));
  const bool is_taken =
      std::ranges::find(launcher::kAgentStartFailures, code) != launcher::kAgentStartFailures.end();
  return is_taken ? kExitFailed : code;
}

}  // namespace robustrun::cli
