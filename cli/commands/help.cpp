#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"

namespace robustrun::cli {

int help_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_help_line(argv);
  if (!line) return complain_of_usage(around, line.error().what);
  print(line->markdown ? help_markdown()
                       : help_text(around.program_name, terminal_columns(around)));
  return 0;
}

}  // namespace robustrun::cli
