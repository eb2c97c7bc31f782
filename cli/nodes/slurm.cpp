#include "cli/nodes/slurm.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "cli/nodes/hosts.h"
#include "cli/options/limits.h"
#include "launcher/hosts/host_list.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using Part = SlurmPlan::Part;

// From here on step ids are Slurm's own: interactive, batch, external and pending steps.
constexpr std::uint32_t kSpecialSteps = 0xffff'fff0;

std::string text_of(const Surroundings& around, std::string_view name) {
  return around.variable(name).value_or("");
}

std::uint32_t number_of(const Surroundings& around, std::string_view name, std::uint32_t other) {
  const auto number = base::parse_int<std::uint32_t>(text_of(around, name));
  return number ? *number : other;
}

// A step with a terminal is a shell (srun --pty), whatever its number of tasks.
bool in_user_step(const Surroundings& around) {
  const bool is_step = number_of(around, "SLURM_STEP_ID", kSpecialSteps) < kSpecialSteps;
  const bool has_terminal = around.stdout_is_terminal || around.stderr_is_terminal;
  return is_step && !(has_terminal && !text_of(around, "SLURM_PTY_PORT").empty());
}

bool is_asked_for(const Settings& settings) {
  return settings.flag(OptionId::kSlurm) || settings.text(OptionId::kLauncher) == "slurm" ||
         settings.text(OptionId::kAllocation) == "slurm";
}

bool is_open(const Settings& settings) {
  const std::string asked = settings.text(OptionId::kAllocation);
  return leaves_hosts_open(settings) && settings.text(OptionId::kLauncher) == "auto" &&
         (asked == "auto" || asked == "slurm");
}

std::unexpected<base::Error> cannot_use_slurm(const Settings& settings, std::string_view why) {
  const bool is_launcher = settings.text(OptionId::kLauncher) == "slurm";
  const OptionId id = settings.flag(OptionId::kSlurm) ? OptionId::kSlurm
                      : is_launcher                   ? OptionId::kLauncher
                                                      : OptionId::kAllocation;
  return fail(Errc::kInvalidArgument, fmt::format("cannot use {}: {}", settings.written(id), why));
}

base::Status check_asked(const Settings& settings, const SlurmPlan& slurm, bool in_tasks) {
  if (slurm.job.empty() || slurm.node_list.empty()) {
    return cannot_use_slurm(settings,
                            "this is no Slurm allocation (SLURM_JOB_ID and SLURM_JOB_NODELIST are "
                            "not set); start it within sbatch or salloc");
  }
  if (names_hosts(settings)) {
    return cannot_use_slurm(settings,
                            "hosts are named, and the allocation has its own; "
                            "leave one of them out");
  }
  if (!settings.text(OptionId::kRdzvEndpoint).empty()) {
    return cannot_use_slurm(settings, fmt::format("{} is for nodes that are started by hand; leave "
                                                  "one of them out",
                                                  settings.written(OptionId::kRdzvEndpoint)));
  }
  if (in_tasks) {
    return cannot_use_slurm(settings,
                            "this is one of several tasks of an srun, and the tasks are the "
                            "nodes; leave it out, or start robustrun without srun");
  }
  return {};
}

base::Status read_nodes(SlurmPlan& slurm) {
  auto nodes = launcher::parse_host_list(slurm.node_list);
  if (!nodes) {
    return fail(nodes.error().code,
                fmt::format("cannot use SLURM_JOB_NODELIST={}: {}",
                            base::printable(slurm.node_list), nodes.error().what));
  }
  slurm.nodes = *std::move(nodes);
  return {};
}

base::Status read_step(const Surroundings& around, SlurmPlan& slurm) {
  const std::uint32_t nodes = number_of(around, "SLURM_STEP_NUM_NODES", 0);
  slurm.task = number_of(around, "SLURM_PROCID", slurm.tasks);
  if (nodes != slurm.tasks || slurm.task >= slurm.tasks) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot use this step's {} tasks as nodes: they are on {} nodes, and "
                            "each node needs one robustrun; use srun --ntasks-per-node=1 (or "
                            "--standalone for independent runs)",
                            slurm.tasks, nodes));
  }
  slurm.meeting = fmt::format("{}.{}.{}", slurm.job, text_of(around, "SLURM_STEP_ID"),
                              number_of(around, "SLURM_RESTART_COUNT", 0));
  return {};
}

}  // namespace

std::uint32_t count_gpus(std::string_view text) {
  std::uint32_t sum = 0;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto number = base::parse_int<std::uint32_t>(piece.substr(piece.rfind(':') + 1));
    if (!number || *number > kWorkersPerNodeMax) return 0;
    sum += *number;
  }
  return sum;
}

Result<SlurmPlan> plan_slurm(const Settings& settings, const Surroundings& around) {
  SlurmPlan slurm;
  slurm.job = text_of(around, "SLURM_JOB_ID");
  slurm.node_list = text_of(around, "SLURM_JOB_NODELIST");
  if (slurm.node_list.empty()) slurm.node_list = text_of(around, "SLURM_NODELIST");
  slurm.tasks = number_of(around, "SLURM_STEP_NUM_TASKS", 1);
  slurm.components = number_of(around, "SLURM_HET_SIZE", 1);
  const bool in_step = in_user_step(around);
  const bool in_tasks = in_step && slurm.tasks > 1;
  if (is_asked_for(settings)) {
    RR_TRY(check_asked(settings, slurm, in_tasks));
    slurm.part = Part::kLaunch;
  } else if (slurm.job.empty() || slurm.node_list.empty() || !is_open(settings)) {
    return slurm;
  } else if (in_tasks) {
    slurm.part = Part::kMeet;
  } else if (!in_step) {
    slurm.part = Part::kLaunch;
  }
  for (const char* name : {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}) {
    if (slurm.gpus_per_node == 0) slurm.gpus_per_node = count_gpus(text_of(around, name));
  }
  if (slurm.part == Part::kLaunch) RR_TRY(read_nodes(slurm));
  if (slurm.part == Part::kMeet) RR_TRY(read_step(around, slurm));
  return slurm;
}

}  // namespace robustrun::cli
