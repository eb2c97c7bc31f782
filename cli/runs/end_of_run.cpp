#include "cli/runs/end_of_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/core/words.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "cli/runs/read_journal.h"
#include "cli/text/terminal.h"
#include "supervisor/run/final_report.h"

namespace robustrun::cli {
namespace {

bool is_compat(const std::vector<supervisor::JournalEntry>& entries) {
  if (entries.empty()) return false;
  const auto* event = std::get_if<supervisor::Event>(&entries.front().what);
  const auto* run = event == nullptr ? nullptr : std::get_if<supervisor::RunStarted>(&event->body);
  return run != nullptr && run->spec.compat;
}

}  // namespace

base::Result<supervisor::RunReport> report_of(const std::string& directory) {
  const auto readout = RR_TRY(read_journal(directory + "/journal"));
  return supervisor::build_report(readout.entries);
}

void print_final_report(const std::string& directory, const Surroundings& around, bool quiet) {
  const auto readout = read_journal(directory + "/journal");
  if (!readout) return say(readout.error().what);
  const std::string words = supervisor::final_report(
      readout->entries,
      {is_compat(readout->entries),
       !quiet && !is_compat(readout->entries),
       {around.takes_colour(around.stderr_is_terminal), supervisor::stderr_width()}});
  // The last output of a worker may have no line end.
  static_cast<void>(
      base::write_all(STDERR_FILENO, base::is_stderr_in_line() ? "\n" + words : words));
}

std::string end_in_words(const supervisor::RunReport& report) {
  std::string words = fmt::format("run {} {} after {}", report.run_id, to_string(report.outcome),
                                  base::duration_words(report.duration));
  if (report.exit_code) words += fmt::format(", exit code {}", *report.exit_code);
  if (!report.reason.empty()) words += ": " + report.reason;
  return words;
}

}  // namespace robustrun::cli
