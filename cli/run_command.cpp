#include "agent/numa.h"
#include "base/io/log.h"
#include "cli/commands.h"
#include "cli/dry_run.h"
#include "cli/help_text.h"
#include "cli/parser.h"
#include "cli/plan.h"
#include "cli/print_config.h"
#include "cli/settings.h"

namespace robustrun::cli {
namespace {

// As the agent does it again on its node; here so that a binding that cannot be made is said
// before anything starts.
base::Result<NodeCpus> plan_cpus(const RunPlan& plan, const Surroundings& around) {
  const wire::WorkerTemplate& workers = plan.request.workers;
  NodeCpus cpus;
  cpus.usable = agent::usable_cpus();
  if (workers.numa_binding.empty()) return cpus;
  agent::NumaRequest request;
  request.mode = workers.numa_binding;
  request.local_world_size = plan.request.spec.nodes[0].slots;
  request.cuda_visible_devices = around.variable("CUDA_VISIBLE_DEVICES");
  request.allowed_cpus = agent::allowed_cpus();
  cpus.bindings = RR_TRY(agent::plan_numa_binding(request)).cpus;
  return cpus;
}

int start(const RunPlan& plan) {
  for (const std::string& warning : plan.warnings) RR_LOG(kWarn, {}, "{}", warning);
  for (const std::string& note : plan.notes) RR_LOG(kDebug, {}, "{}", note);
  if (auto made = make_places(plan.places); !made) return complain(made.error());
  return supervisor::run_job(plan.request);
}

}  // namespace

int run_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, line.error().what);
  if (line->value(OptionId::kHelp)) {
    print(help_text(around.program_name, terminal_columns(around)));
    return 0;
  }
  if (line->value(OptionId::kVersion)) return version_command();
  const auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  if (settings->has(OptionId::kPrintConfig)) {
    const bool json = settings->text(OptionId::kPrintConfig) == "json";
    print(json ? config_json(*settings) : config_toml(*settings));
    return 0;
  }
  if (!settings->script) {
    return complain_of_usage(around, "the following arguments are required: training_script");
  }
  const auto plan = plan_run(*settings, argv, around);
  if (!plan) return complain(plan.error());
  const auto cpus = plan_cpus(*plan, around);
  if (!cpus) return complain(cpus.error());
  base::configure_log(log_options(*settings, around));
  if (!settings->flag(OptionId::kDryRun)) return start(*plan);
  const auto text = dry_run_text(*plan, *cpus);
  if (!text) return complain(text.error());
  print(*text);
  return 0;
}

}  // namespace robustrun::cli
