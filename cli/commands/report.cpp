#include "supervisor/core/report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ranges>
#include <variant>

#include "base/io/tool.h"
#include "base/io/unwatched_child.h"
#include "cli/commands/commands.h"
#include "cli/host/output_file.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "cli/runs/run_chain.h"
#include "supervisor/core/report/html/html.h"
#include "supervisor/core/report/render.h"
#include "supervisor/core/report/trace.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

constexpr std::string_view kPageName = "report.html";

// The browser outlives this command, and is not waited for.
void show_page(const std::string& path, const Surroundings& around) {
  const auto opener = base::find_executable("xdg-open", around.variable("PATH").value_or(""));
  if (!opener) {
    say("cannot show the page: xdg-open is not on PATH; open the file in a browser");
    return;
  }
  base::ChildOptions options;
  options.executable = *opener;
  options.argv = {"xdg-open", path};
  options.environment = around.environment;
  if (const auto child = base::UnwatchedChild::spawn(options); !child) {
    say("cannot show the page: " + child.error().what);
  }
}

// Files instead of text.
int write_files(const ReportLine& line, const std::string& journal,
                const std::vector<supervisor::JournalEntry>& entries, const Surroundings& around) {
  if (line.html || line.open) {
    const std::string beside = std::filesystem::path(journal).replace_filename(kPageName);
    const std::string path = line.html ? around.absolute(*line.html) : beside;
    if (const auto status = write_output(path, supervisor::html_report(entries)); !status) {
      return complain(status.error());
    }
    if (line.open) show_page(path, around);
  }
  if (!line.trace) return 0;
  const auto status = write_output(around.absolute(*line.trace), supervisor::trace_events(entries));
  return status ? 0 : complain(status.error());
}

// The age of the last reading of progress; the last entry is of this moment.
std::optional<base::Nanos> read_ago(const std::vector<supervisor::JournalEntry>& entries) {
  for (const supervisor::JournalEntry& entry : std::views::reverse(entries)) {
    const auto* const event = std::get_if<supervisor::Event>(&entry.what);
    if (event == nullptr || !std::holds_alternative<supervisor::Progress>(event->body)) continue;
    return std::max(base::Nanos{}, entries.back().at - entry.at);
  }
  return std::nullopt;
}

}  // namespace

int report_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_report_line(argv);
  if (!line) return complain_of_usage(around, "report", line.error().what);
  if (line->help) {
    print(command_help("report", terminal_columns(around)));
    return 0;
  }
  const bool to_files = line->html || line->trace || line->open;
  if (to_files && (line->json || line->verbose)) {
    return complain_of_usage(around, "report",
                             fmt::format("argument {}: not with --html, --open and --trace",
                                         line->json ? "--json" : "-v/--verbose"));
  }
  for (const auto* file : {&line->html, &line->trace}) {
    if (*file && (*file)->empty()) {
      return complain_of_usage(around, "report",
                               fmt::format("argument {}: expected a file's name",
                                           file == &line->html ? "--html" : "--trace"));
    }
  }
  const auto journal = find_journal(line->run, around);
  if (!journal) return complain(journal.error());
  auto readout = read_journal(*journal);
  if (!readout) return complain(readout.error());
  // What is left is shown all the same.
  const int exit_code = readout->damage.empty() ? 0 : supervisor::kExitFailure;
  const bool is_active = is_live(std::filesystem::path(*journal).parent_path());
  if (to_files) {
    const int written = write_files(*line, *journal, readout->entries, around);
    return written != 0 ? written : exit_code;
  }
  // Files and JSON are made from the journal alone.
  if (is_active && !line->json) bring_to_now(readout->entries, around.wall_time);
  supervisor::RunReport report = supervisor::build_report(readout->entries);
  report.earlier_starts = earlier_starts(std::filesystem::path(*journal).parent_path());
  if (line->json) {
    print(supervisor::report_json(report) + "\n");
  } else {
    report.is_active = is_active && report.outcome == supervisor::RunOutcome::kUnfinished;
    if (report.is_active) report.read_ago = read_ago(readout->entries);
    const auto detail = line->verbose ? supervisor::Detail::kFull : supervisor::Detail::kShort;
    print(supervisor::render_report(report, {around.takes_colour(around.stdout_is_terminal),
                                             terminal_columns(around), detail}));
  }
  return exit_code;
}

}  // namespace robustrun::cli
