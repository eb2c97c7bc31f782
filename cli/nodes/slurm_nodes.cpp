#include "cli/nodes/slurm_nodes.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/nodes/node_range.h"
#include "cli/nodes/rendezvous.h"
#include "cli/options/values.h"
#include "cli/placement/places.h"
#include "cli/submit/replacement_options.h"
#include "cli/submit/slurm_time.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;

}  // namespace

base::Status check_allocation(const Settings& settings, const SlurmPlan& slurm, std::uint32_t most,
                              std::size_t nodes) {
  if (!settings.given(OptionId::kNnodes)) return {};
  const auto spares = static_cast<std::size_t>(settings.integer(OptionId::kSpares).value_or(0));
  if (most + spares == nodes) return {};
  const std::string wanted =
      spares == 0 ? base::counted(most, "node")
                  : base::counted(most, "node") + " and " + base::counted(spares, "spare");
  const std::string remedy =
      most < nodes ? fmt::format(
                         "; leave it out for all of them, or keep the others in reserve "
                         "with --spares={}",
                         nodes - most)
                   : "; ask Slurm for more, or leave it out";
  return fail(Errc::kInvalidArgument,
              fmt::format("cannot use {}: it takes {}, and the allocation (Slurm job {}) "
                          "has {}, {}{}",
                          settings.written(OptionId::kNnodes), wanted, slurm.job, nodes,
                          slurm.node_list, remedy));
}

base::Status plan_srun(const Settings& settings, const Surroundings& around, const SlurmPlan& slurm,
                       launcher::SlurmOptions& options) {
  const auto srun = around.machine->find_executable("srun", around.variable("PATH").value_or(""));
  if (!srun) {
    return fail(Errc::kNotFound,
                fmt::format("cannot start agents in the Slurm allocation {}: srun is not on PATH; "
                            "add its folder, or use --launcher=local for this machine alone",
                            slurm.job));
  }
  options.executable = around.executable;
  options.commands = srun->substr(0, srun->rfind('/'));
  options.job = slurm.job;
  const auto restarts =
      base::parse_int<std::uint32_t>(around.variable("SLURM_RESTART_COUNT").value_or(""));
  options.restarts = restarts ? *restarts : 0;
  options.poll = settings.duration(OptionId::kSlurmPoll).value_or(base::Nanos{});
  options.warning = slurm_warning(*settings.duration(OptionId::kSaveWithin)) + kSlurmWarningSlack;
  return {};
}

base::Status plan_replacements(const Settings& settings, NodesPlan& plan) {
  plan.replace = static_cast<std::uint32_t>(settings.integer(OptionId::kReplace).value_or(0));
  if (plan.replace == 0) return {};
  if (plan.slurm.poll == base::Nanos{}) {
    return cannot_use(settings, OptionId::kReplace,
                      "Slurm must be asked what becomes of the jobs; leave --slurm-poll=0 out");
  }
  auto options = replacement_options(settings.text(OptionId::kReplaceWith));
  if (!options) return cannot_use(settings, OptionId::kReplaceWith, options.error().what);
  plan.slurm.replacement = *std::move(options);
  return {};
}

base::Status plan_step(const Settings& settings, const Surroundings& around, const SlurmPlan& slurm,
                       NodesPlan& plan) {
  const auto [least, most] = RR_TRY(node_counts(settings));
  const bool given = settings.given(OptionId::kNnodes);
  if (given && most != slurm.tasks) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot use {}: it takes {}, and this srun (step {}) has {} "
                            "tasks, which are the nodes; make them equal, or leave it out",
                            settings.written(OptionId::kNnodes), base::counted(most, "node"),
                            slurm.meeting, slurm.tasks));
  }
  if (settings.has(OptionId::kSpares)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot use {}: within srun every task is a working node",
                            settings.written(OptionId::kSpares)));
  }
  plan.max_nodes = slurm.tasks;
  plan.min_nodes = given ? least : slurm.tasks;
  Meeting meeting;
  meeting.id = slurm.meeting;
  meeting.part = slurm.task == 0 ? Meeting::Part::kHost : Meeting::Part::kGuest;
  meeting.node_rank = slurm.task;
  plan.meeting = std::move(meeting);
  plan.trust = Trust::kSecret;
  plan.join_token = fmt::format("{}/.slurm-{}", runs_folder(around), slurm.meeting);
  return {};
}

}  // namespace robustrun::cli
