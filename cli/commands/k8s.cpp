// `robustrun k8s`: prints a training as a Job or JobSet of Kubernetes.

#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/submit/kubernetes_job.h"
#include "cli/submit/submit.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {

int k8s_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, "k8s", line.error().what);
  if (line->value(OptionId::kHelp)) {
    print(command_help("k8s", terminal_columns(around)));
    return supervisor::kExitSuccess;
  }
  if (const auto status = check_subcommand(*line, Group::kKubernetes); !status) {
    return complain_of_usage(around, "k8s", status.error().what);
  }
  const auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  if (!settings->script) {
    return complain_of_usage(around, "k8s",
                             "the following arguments are required: training_script");
  }
  const auto job = plan_kubernetes(*settings);
  if (!job) return complain(job.error());
  print(kubernetes_manifest(*job));
  return supervisor::kExitSuccess;
}

}  // namespace robustrun::cli
