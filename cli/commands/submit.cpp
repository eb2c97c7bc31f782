#include <fmt/format.h>

#include "base/core/text.h"
#include "base/io/tool.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/submit/batch_script.h"
#include "cli/submit/submit.h"

namespace robustrun::cli {
namespace {

// One line, as all our messages are.
std::string joined_lines(std::string_view text) {
  std::string joined;
  for (const std::string_view line : base::split(base::trim(text), '\n')) {
    joined += (joined.empty() ? "" : "; ") + std::string(line);
  }
  return joined;
}

base::Result<std::string> call_sbatch(const std::string& script, const Surroundings& around) {
  const auto sbatch = base::find_executable("sbatch", around.variable("PATH").value_or(""));
  if (!sbatch) {
    return base::fail(base::Errc::kNotFound,
                      "cannot submit: sbatch is not on PATH; log in to a host of the cluster, "
                      "or submit the script that --dry-run prints");
  }
  const auto done = RR_TRY(base::run_tool({*sbatch, "--parsable"}, kSubmitMax, script));
  if (!done.status.success()) {
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("cannot submit: sbatch ended with {}: {}",
                                  base::describe(done.status), joined_lines(done.err)));
  }
  // "123", or "123;cluster"
  return std::string(base::trim(done.out.substr(0, done.out.find(';'))));
}

}  // namespace

int submit_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, "submit", line.error().what);
  if (line->value(OptionId::kHelp)) {
    print(command_help("submit", terminal_columns(around)));
    return 0;
  }
  if (const auto status = check_subcommand(*line, Group::kSubmit); !status) {
    return complain_of_usage(around, "submit", status.error().what);
  }
  const auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  if (!settings->script) {
    return complain_of_usage(around, "submit",
                             "the following arguments are required: training_script");
  }
  const auto job = plan_submit(*line, *settings, around);
  if (!job) return complain(job.error());
  const std::string script = batch_script(*job);
  if (settings->flag(OptionId::kDryRun)) {
    print(script);
    return 0;
  }
  const auto id = call_sbatch(script, around);
  if (!id) return complain(id.error());
  print(*id + "\n");
  say(
      fmt::format("job {0} is queued; once it runs, robustrun status|report|stop "
                  "robustrun-runs/slurm-{0}; scancel {0} ends it",
                  *id));
  return 0;
}

}  // namespace robustrun::cli
