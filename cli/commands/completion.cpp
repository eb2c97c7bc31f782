// `robustrun completion`: prints a script for the shell.

#include "cli/manual/completion.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"

namespace robustrun::cli {

int completion_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_completion_line(argv);
  if (!line) return complain_of_usage(around, "completion", line.error().what);
  print(line->help ? command_help("completion", terminal_columns(around))
                   : completion_script(line->shell, "robustrun"));
  return 0;
}

}  // namespace robustrun::cli
