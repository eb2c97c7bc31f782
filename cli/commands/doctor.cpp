// `robustrun doctor`: what works on this machine.

#include "cli/commands/commands.h"
#include "cli/doctor/gather.h"
#include "cli/doctor/render.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {

int doctor_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_doctor_line(argv);
  if (!line) return complain_of_usage(around, "doctor", line.error().what);
  const int columns = terminal_columns(around);
  if (line->help) {
    print(command_help("doctor", columns));
    return 0;
  }
  const Facts facts = gather_facts(around);
  const std::vector<Check> checks = check_all(facts);
  const bool colour = around.stdout_is_terminal && around.variable("NO_COLOR").value_or("").empty();
  print(line->json ? doctor_json(facts.host, checks) : doctor_text(checks, columns, colour));
  return count_of(checks, CheckState::kBad) == 0 ? supervisor::kExitSuccess
                                                 : supervisor::kExitFailure;
}

}  // namespace robustrun::cli
