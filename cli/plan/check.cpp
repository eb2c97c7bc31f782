#include "cli/plan/check.h"

#include <fmt/core.h>

namespace robustrun::cli {

using supervisor::PreflightDepth;

PreflightDepth preflight_depth(const Settings& settings, const NodesPlan& nodes) {
  const std::string chosen = settings.text(OptionId::kPreflight);
  if (chosen == "off") return PreflightDepth::kOff;
  if (chosen == "full") return PreflightDepth::kFull;
  if (chosen == "fast") return PreflightDepth::kFast;
  if (chosen == "gpu") return PreflightDepth::kGpu;
  const bool several =
      nodes.way != NodesPlan::Way::kLocal && (nodes.max_nodes > 1 || nodes.hosts.size() > 1);
  return several ? PreflightDepth::kFast : PreflightDepth::kOff;
}

void make_it_a_check(const Settings& settings, const Surroundings& around, RunPlan& plan) {
  supervisor::JobSpec& spec = plan.request.spec;
  spec.check_only = true;
  if (spec.preflight == PreflightDepth::kOff) spec.preflight = PreflightDepth::kFast;
  if (settings.flag(OptionId::kGpu)) spec.preflight = PreflightDepth::kGpu;
  if (!spec.group.open) spec.group.min_nodes = 1;  // a host that does not join is a finding
  // srun's files must be on a file system that every node sees.
  const bool by_srun = plan.request.network.launch == supervisor::NetworkPlan::Launch::kSlurm;
  if (!settings.has(OptionId::kRunDir) && !by_srun) {
    plan.places.private_root = private_runs_folder(around);
    plan.places.private_root.resize(plan.places.private_root.rfind('/'));
    plan.places.run_directory = private_runs_folder(around) + "/check-" + plan.places.run_name;
    plan.request.run_directory = plan.places.run_directory;
  }
  plan.request.workers.deps.clear();  // there are no workers
  plan.request.workers.setup_command.clear();
  plan.places.log_directory.clear();  // the folder is not made
  plan.places.log_base.clear();
  if (settings.flag(OptionId::kDetach)) {
    plan.warnings.push_back(fmt::format("{} has no effect: a check prints its table here",
                                        settings.written(OptionId::kDetach)));
  }
  plan.request.console_log.clear();
  plan.request.print_report = false;
  plan.request.summary_json.clear();
  plan.request.ci = {};
  plan.request.outlets = {};  // in a --config file they are for runs
}

}  // namespace robustrun::cli
