#include <filesystem>
#include <system_error>

#include "base/io/log.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/plan/check.h"
#include "cli/plan/plan.h"
#include "cli/submit/submit.h"

namespace robustrun::cli {

int check_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, "check", line.error().what);
  if (line->value(OptionId::kHelp)) {
    print(command_help("check", terminal_columns(around)));
    return 0;
  }
  if (const auto status = check_subcommand(*line, Group::kCheck); !status) {
    return complain_of_usage(around, "check", status.error().what);
  }
  auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  if (!settings->script) settings->script = "";  // check the nodes alone
  auto plan = plan_run(*settings, argv, around);
  if (!plan) return complain(plan.error());
  base::configure_log(log_options(*settings, around));
  make_it_a_check(*settings, around, *plan);
  const std::string folder = plan->places.run_directory;
  const int exit_code = carry_out(*std::move(plan), around);
  if (!settings->has(OptionId::kRunDir)) {
    std::error_code ignored;  // a leftover folder does no harm
    std::filesystem::remove_all(folder, ignored);
  }
  return exit_code;
}

}  // namespace robustrun::cli
