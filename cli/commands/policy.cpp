#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/tables/policy_file.h"
#include "cli/text/policy_text.h"

namespace robustrun::cli {

int policy_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, "policy", line.error().what);
  if (line->value(OptionId::kHelp)) {
    print(command_help("policy", terminal_columns(around)));
    return 0;
  }
  const auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  const auto policy = plan_policy(*settings, around);
  if (!policy) return complain(policy.error());
  print(policy_text(*policy));
  return 0;
}

}  // namespace robustrun::cli
