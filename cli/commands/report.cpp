#include "supervisor/core/report/report.h"

#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/runs/find_run.h"
#include "supervisor/core/report/render.h"
#include "supervisor/run_dir/journal.h"

namespace robustrun::cli {

int report_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_report_line(argv);
  if (!line) return complain_of_usage(around, "report", line.error().what);
  if (line->help) {
    print(command_help("report", terminal_columns(around)));
    return 0;
  }
  const auto journal = find_journal(line->run, around);
  if (!journal) return complain(journal.error());
  const auto readout = supervisor::read_run_journal(*journal);
  if (!readout) return complain(readout.error());
  const supervisor::RunReport report = supervisor::build_report(readout->entries);
  if (line->json) {
    print(supervisor::report_json(report) + "\n");
  } else {
    const bool refused = !around.variable("NO_COLOR").value_or("").empty();
    const auto detail = line->verbose ? supervisor::Detail::kFull : supervisor::Detail::kShort;
    print(supervisor::render_report(
        report, {around.stdout_is_terminal && !refused, terminal_columns(around), detail}));
  }
  return 0;
}

}  // namespace robustrun::cli
