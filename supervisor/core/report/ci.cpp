#include "supervisor/core/report/ci.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/fault/script_error.h"
#include "supervisor/core/report/inert.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kIncidentsShown = 50;
constexpr std::size_t kLinesShown = 40;  // of a rank's stderr

// "2026-08-01T10:00:02", in UTC.
std::string utc_seconds(base::Nanos unix_time) {
  using namespace std::chrono;
  const sys_time<base::Nanos> at(unix_time);
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(floor<std::chrono::seconds>(at - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

double seconds_of(base::Nanos time) { return std::chrono::duration<double>(time).count(); }

std::string place_of(const Incident& incident) {
  if (!incident.rank) return incident.node.empty() ? "the run" : incident.node;
  return incident.node.empty() ? fmt::format("rank {}", *incident.rank)
                               : fmt::format("rank {} on {}", *incident.rank, incident.node);
}

// "rank 3 on n7: exit code 1, ValueError: no such dataset in load (data.py:12)"
std::string sentence(const Incident& incident) {
  std::string text =
      place_of(incident) + ": " + (incident.ended.empty() ? "failed" : incident.ended);
  if (!incident.exception.empty()) text += ", " + incident.exception;
  if (!incident.place.empty()) text += " in " + incident.place;
  return base::printable(text);
}

bool ended_the_run(const RunReport& report, const Incident& incident) {
  return report.outcome == RunOutcome::kFailed && &incident == &report.incidents.back();
}

std::string cell(std::string_view text) {
  return with_escapes(base::printable(text),
                      {{'|', "\\|"}, {'<', "&lt;"}, {'>', "&gt;"}, {'`', "'"}});
}

// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
std::string command_text(std::string_view text) {
  return with_escapes(text, {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}});
}

std::string command_property(std::string_view text) {
  return with_escapes(command_text(text), {{':', "%3A"}, {',', "%2C"}});
}

// The path of a file as it is in the repository that is checked out in `workspace`.
std::string_view path_in(std::string_view workspace, std::string_view file) {
  while (workspace.ends_with('/')) workspace.remove_suffix(1);
  const bool is_inside = !workspace.empty() && file.starts_with(workspace) &&
                         file.substr(workspace.size()).starts_with('/');
  return is_inside ? file.substr(workspace.size() + 1) : file;
}

// XML 1.0 has no characters below space but tab and line ends; what is not UTF-8 is escaped.
std::string xml(std::string_view bytes) { return html_text(base::printable(bytes)); }

std::string junit_failure(const Incident& incident) {
  std::string text =
      fmt::format("    <failure message=\"{}\" type=\"{}\">", xml(sentence(incident)),
                  xml(incident.looks_like ? incident.looks_like->symptom : "failure"));
  const auto& lines = incident.stderr_tail;
  const std::size_t first = lines.size() - std::min(lines.size(), kLinesShown);
  for (std::size_t i = first; i < lines.size(); ++i) text += xml(lines[i]) + "\n";
  return text + "</failure>\n";
}

}  // namespace

std::string report_markdown(const RunReport& report) {
  std::string text =
      fmt::format("## {}: {}\n\n{}\n\n", cell(report.program), to_string(report.outcome),
                  cell(report.reason.empty() ? "The journal has no decision." : report.reason));
  text +=
      "| run | exit code | duration | workers | nodes | attempts | steps | ETTR |\n"
      "|---|---|---|---|---|---|---|---|\n";
  text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", cell(report.run_id),
                      report.exit_code ? std::to_string(*report.exit_code) : "–",
                      base::duration_words(report.duration), report.world_size, report.nodes,
                      report.attempts,
                      report.step ? std::to_string(*report.step) : std::to_string(report.steps),
                      report.time.ettr ? fmt::format("{:.1f} %", *report.time.ettr * 100) : "–");
  if (report.incidents.empty()) return text + "\n";
  text += "\n| after | attempt | failure | likely | then |\n|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < std::min(report.incidents.size(), kIncidentsShown); ++i) {
    const Incident& incident = report.incidents[i];
    text += fmt::format("| {} | {} | {} | {} | {} |\n", base::duration_words(incident.at),
                        incident.attempt, cell(sentence(incident)),
                        incident.looks_like ? cell(incident.looks_like->symptom) : "–",
                        cell(incident.verdict.empty() ? incident.decision : incident.verdict));
  }
  if (report.incidents.size() > kIncidentsShown) {
    text +=
        fmt::format("\n{} more are in the report.\n", report.incidents.size() - kIncidentsShown);
  }
  return text + "\n";
}

std::string github_annotations(const RunReport& report, std::string_view workspace) {
  std::string text;
  for (std::size_t i = 0; i < report.incidents.size(); ++i) {
    const Incident& incident = report.incidents[i];
    const bool is_last = i + 1 == report.incidents.size();
    if (i >= kIncidentsShown && !is_last) continue;
    const auto error = script_error(incident.stderr_tail);
    std::string properties;
    if (error && !error->file.empty()) {
      const std::string file = base::printable(path_in(workspace, error->file));
      properties = fmt::format("file={},line={},", command_property(file), error->line);
    }
    text +=
        fmt::format("::{} {}title={}::{}\n", ended_the_run(report, incident) ? "error" : "warning",
                    properties, command_property(fmt::format("robustrun: {}", place_of(incident))),
                    command_text(sentence(incident)));
  }
  return text;
}

std::string report_junit(const RunReport& report) {
  std::map<std::uint32_t, const Incident*> failures;  // by attempt: its first
  for (const Incident& incident : report.incidents) failures.emplace(incident.attempt, &incident);
  const std::uint32_t attempts = std::max<std::uint32_t>(report.attempts, 1);
  std::string cases;
  base::Nanos begin{};
  for (std::uint32_t attempt = 0; attempt < attempts; ++attempt) {
    const auto found = failures.find(attempt);
    const bool has_failed = found != failures.end();
    const bool is_newest = attempt + 1 == attempts;
    const bool is_last = is_newest && report.outcome == RunOutcome::kFailed;
    cases += fmt::format("  <testcase classname=\"robustrun\" name=\"{} attempt {}\"",
                         xml(report.program), attempt);
    // The end of an attempt that was ended for an update is not known: the next one's time has
    // both.
    if (has_failed || is_newest) {
      const base::Nanos end = has_failed ? found->second->at : report.duration;
      cases += fmt::format(" time=\"{:.3f}\"", std::max(0.0, seconds_of(end - begin)));
      begin = end;
    }
    if (!has_failed && !is_last) {
      cases += "/>\n";
      continue;
    }
    cases += ">\n";
    if (!is_last) {
      cases += fmt::format("    <system-out>{}</system-out>\n", xml(sentence(*found->second)));
    } else if (has_failed) {
      cases += junit_failure(*found->second);
    } else {  // nothing was started
      cases += fmt::format("    <failure message=\"{}\" type=\"failure\"/>\n", xml(report.reason));
    }
    cases += "  </testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"robustrun {}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" "
      "time=\"{:.3f}\" timestamp=\"{}\">\n{}</testsuite>\n",
      xml(report.run_id), attempts, report.outcome == RunOutcome::kFailed ? 1 : 0,
      seconds_of(report.duration), utc_seconds(report.started), cases);
}

}  // namespace robustrun::supervisor
