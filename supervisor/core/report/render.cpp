#include "supervisor/core/report/render.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/report/page.h"
#include "supervisor/core/report/words.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kListLinesMax = 8;
constexpr std::size_t kListLinesShort = 3;
constexpr double kLeastShare = 0.01;  // of the run's time: shorter parts are left out
constexpr std::int64_t kDataWaitShare = 20;  // likewise: less than 1/20
constexpr std::size_t kStderrLinesShort = 6;
constexpr std::size_t kStderrLinesFull = 50;
// More incidents than this and only the first and the last ones are shown; --json has all.
constexpr std::size_t kIncidentsFirst = 5;
constexpr std::size_t kIncidentsLast = 15;

Ink ink_of(const RunReport& report) {
  if (report.outcome == RunOutcome::kSucceeded) return Ink::kGood;
  return report.outcome == RunOutcome::kFailed ? Ink::kBad : Ink::kWarn;
}

std::string incident_title(const RunReport& report, std::size_t index) {
  const Incident& incident = report.incidents[index];
  return fmt::format("Incident {} of {}: {}, {} after the start (attempt {})", index + 1,
                     report.incidents.size(), subject_of(incident),
                     base::duration_words(incident.at), incident.attempt);
}

void show_stderr(const Incident& incident, std::size_t lines_max, Page& page) {
  const auto& tail = incident.stderr_tail;
  if (tail.empty()) return;
  const std::size_t shown = std::min(tail.size(), lines_max);
  page.item("stderr", shown == tail.size()
                          ? fmt::format("last {}", base::counted(shown, "line"))
                          : fmt::format("last {} of {} lines", shown, tail.size()));
  for (std::size_t i = tail.size() - shown; i < tail.size(); ++i) page.quote(tail[i]);
}

void show_recovery(const Incident& incident, Page& page) {
  if (incident.phases.empty()) return;
  page.item("recovery", recovery_words(incident));
  if (!incident.cold.empty()) page.item("not warm", base::join(incident.cold, "\n"));
  for (const Phase& phase : incident.phases) {
    // One unit for all, so that the long ones stand out.
    const double seconds = std::chrono::duration<double>(phase.duration).count();
    page.row(to_string(phase.name), fmt::format("{:.4f} s", seconds));
  }
}

void show_list(std::string_view label, const std::vector<std::string>& lines, Page& page,
               std::size_t lines_max = kListLinesMax) {
  const std::size_t shown = std::min(lines.size(), lines_max);
  for (std::size_t i = 0; i < shown; ++i) page.item(i == 0 ? label : "", lines[i]);
  if (shown < lines.size()) page.item("", fmt::format("and {} more", lines.size() - shown));
}

void show_injected(const RunReport& report, Page& page) {
  std::vector<std::string> lines;
  for (const InjectedFault& fault : report.injected) {
    lines.push_back(fmt::format("{}, {} after the start", injected_words(fault),
                                base::duration_words(fault.at)));
  }
  show_list("injected", lines, page);
}

void show_takeovers(const RunReport& report, Page& page) {
  std::vector<std::string> lines;
  for (const Takeover& takeover : report.takeovers) {
    lines.push_back(
        fmt::format("supervisor {} took over {} after the start, on {}, {} after its predecessor "
                    "was last heard of",
                    takeover.incarnation, base::duration_words(takeover.at), takeover.host,
                    base::duration_words(takeover.away)));
  }
  show_list("takeover", lines, page);
}

void show_stages(const RunReport& report, Page& page) {
  page.item("stages", stage_words(report.stages, StartKind::kStart));
  const std::string restarts = stage_words(report.stages, StartKind::kRestart);
  if (!restarts.empty()) page.item("", "of restarts: " + restarts);
  show_list("slow", straggler_words(report.stages), page);
}

void show_evictions(const RunReport& report, Page& page) {
  std::vector<std::string> lines;
  for (const Eviction& eviction : report.evictions) {
    std::string line =
        fmt::format("{}, {} after the start", eviction.words, base::duration_words(eviction.at));
    if (!eviction.returned.empty()) {
      line += eviction.nodes.size() == 1
                  ? "; it came back"
                  : fmt::format("; {} of them came back", eviction.returned.size());
    }
    lines.push_back(std::move(line));
  }
  show_list("evicted", lines, page);
}

// Those that no incident shows.
void show_moved(const RunReport& report, Page& page) {
  std::vector<std::string> lines;
  for (const MovedCheckpoint& moved : report.moved) {
    const bool is_shown = std::ranges::any_of(report.incidents, [&](const Incident& incident) {
      return incident.attempt < moved.attempt;
    });
    if (!is_shown) lines.push_back(in_words(moved));
  }
  show_list("moved", lines, page);
}

// Comes first, because a script that does not resume costs more than anything else.
void show_not_resumed(const RunReport& report, Page& page) {
  std::vector<std::string> lines;
  for (const Incident& incident : report.incidents) {
    if (incident.not_resumed.empty()) continue;
    std::string line = fmt::format("{} (attempt {}", incident.not_resumed, incident.attempt + 1);
    if (incident.steps_lost.value_or(0) > 0) {
      line += fmt::format("; {} done again",
                          base::counted(static_cast<std::uint64_t>(*incident.steps_lost), "step"));
    }
    lines.push_back(line + ")");
  }
  show_list("lost", lines, page);
}

void show_looks(const Incident& incident, Page& page) {
  if (!incident.looks_like) return;
  page.item("likely", cause_in_words(*incident.looks_like));
  page.item("advice", advice_in_words(*incident.looks_like));
}

// What is known besides the failure itself. An exception needs no output beside it.
void show_circumstances(const Incident& incident, Page& page) {
  const bool has_exception = !incident.exception.empty();
  if (!has_exception) show_stderr(incident, kStderrLinesShort, page);
  const auto& looks = incident.looks_like;
  if (looks && !(has_exception && is_surely_the_scripts(*looks))) {
    if (looks->symptom != kUnexplained) {
      page.item("likely", has_exception ? class_in_words(*looks) : cause_in_words(*looks));
    }
    page.item("advice", advice_in_words(*looks));
  }
  show_list("also", incident.also_failed, page, kListLinesShort);
}

// Each fact once: what failed, why as far as is known, what was done, what it cost.
void show_incident(const RunReport& report, std::size_t index, Page& page) {
  const Incident& incident = report.incidents[index];
  const bool has_exception = !incident.exception.empty();
  page.gap();
  page.heading(Ink::kBold, incident_title(report, index));
  page.item("cause", incident.cause);
  page.item("error", error_words(incident));
  if (!has_exception) page.item("ended", incident.ended);
  page.item("injected", incident.injected);
  show_circumstances(incident, page);
  const std::string& done = incident.verdict.empty() ? incident.decision : incident.verdict;
  page.item("done", done.empty() ? "nothing: the journal ends before a decision" : done);
  if (!incident.phases.empty()) page.item("recovery", recovery_words(incident));
  show_list("not warm", incident.cold, page, 1);
  page.item("steps", step_words(incident));
  page.item("saved", saved_words(incident));
  show_list("moved", incident.moved, page, kListLinesShort);
}

void show_incident_in_full(const RunReport& report, std::size_t index, Page& page) {
  const Incident& incident = report.incidents[index];
  page.gap();
  page.heading(Ink::kBold, incident_title(report, index));
  page.item("cause", incident.cause);
  page.item("ended", incident.ended);
  page.item("injected", incident.injected);
  page.item("error", error_words(incident));
  show_stderr(incident, kStderrLinesFull, page);
  show_looks(incident, page);
  show_list("also", incident.also_failed, page);
  page.item("done", incident.decision.empty() ? "nothing: the journal ends before a decision"
                                              : incident.decision);
  show_list("because", incident.further_evidence, page);
  show_list("not done", incident.alternatives, page);
  show_recovery(incident, page);
  page.item("steps", step_words(incident));
  page.item("saved", saved_words(incident));
  show_list("moved", incident.moved, page);
}

// Calls `show` for the first and the last of many incidents, and `show_hidden` in their middle.
template <class Show, class ShowHidden>
void for_incidents(const RunReport& report, Show show, ShowHidden show_hidden) {
  const std::size_t count = report.incidents.size();
  const bool all = count <= kIncidentsFirst + kIncidentsLast;
  for (std::size_t i = 0; i < count; ++i) {
    if (!all && i == kIncidentsFirst) {
      const std::size_t hidden = count - kIncidentsFirst - kIncidentsLast;
      show_hidden(base::counted(hidden, "incident") + " more, in the JSON form of this report");
      i += hidden;
    }
    show(i);
  }
}

// A line for each incident.
void show_incident_lines(const RunReport& report, Page& page) {
  page.gap();
  page.heading(Ink::kBold, base::counted(report.incidents.size(), "incident"));
  const auto show = [&](std::size_t i) {
    const Incident& incident = report.incidents[i];
    std::string line =
        fmt::format("{}: {}", base::duration_words(incident.at), failure_words(incident));
    const std::string& done = incident.verdict.empty() ? incident.decision : incident.verdict;
    if (!done.empty()) line += "; " + done;
    if (!incident.phases.empty()) line += "; " + recovery_words(incident);
    if (!incident.moved.empty()) {
      line += fmt::format("; {} moved aside",
                          base::counted(incident.moved.size(), "half-written checkpoint"));
    }
    page.item(std::to_string(i + 1), line);
  };
  for_incidents(report, show, [&](const std::string& hidden) { page.item("...", hidden); });
}

std::vector<std::string> hang_lines(const RunReport& report) {
  std::vector<std::string> lines;
  for (const HangReport& hang : report.hangs) lines.push_back(hang_words(hang));
  return lines;
}

std::vector<std::string> alarm_lines(const RunReport& report) {
  std::vector<std::string> lines;
  for (const AlarmReport& alarm : report.alarms) lines.push_back(alarm_words(alarm));
  return lines;
}

void show_bandwidth(const RunReport& report, Page& page) {
  std::vector<std::string> lines;
  for (const BandwidthRow& row : report.bandwidth) lines.push_back(in_words(row));
  show_list("bandwidth", lines, page);
}

void show_dropped(const RunReport& report, Page& page) {
  if (report.dropped_bytes == 0) return;
  page.item("dropped", fmt::format("{} of the workers' output could not be written",
                                   base::counted(report.dropped_bytes, "byte")));
}

// One failure and no restart: the failure is the report.
bool is_one_failure(const RunReport& report) {
  return report.outcome == RunOutcome::kFailed && report.incidents.size() == 1 &&
         report.attempts <= 1 && report.incidents[0].phases.empty();
}

void show_one_failure(const RunReport& report, Page& page) {
  const Incident& incident = report.incidents[0];
  page.item("why", why_words(report));
  page.item("now", now_words(report));
  page.item("injected", incident.injected);
  show_circumstances(incident, page);
  page.item("progress", progress_words(report));
  page.item("data", data_words(report));
  page.item("saved", saved_words(incident));
  page.item("logs", report.log_directory);
  show_dropped(report, page);
  show_list("killed", report.killed, page, kListLinesShort);
  show_moved(report, page);
  show_evictions(report, page);
  show_list("hangs", hang_lines(report), page, kListLinesShort);
  show_list("alarms", alarm_lines(report), page, kListLinesShort);
}

void show_short(const RunReport& report, Page& page) {
  if (is_one_failure(report)) return show_one_failure(report, page);
  show_not_resumed(report, page);
  page.item("why", why_words(report));
  page.item("now", now_words(report));
  page.item("workers", worker_words(report));
  page.item("progress", progress_words(report));
  page.item("data", data_words(report, report.duration / kDataWaitShare));
  page.item("time", time_words(report.time, kLeastShare));
  page.item("logs", report.log_directory);
  show_dropped(report, page);
  show_list("killed", report.killed, page, kListLinesShort);
  show_moved(report, page);
  show_evictions(report, page);
  show_list("hangs", hang_lines(report), page, kListLinesShort);
  show_list("alarms", alarm_lines(report), page, kListLinesShort);
  if (report.incidents.empty()) return;
  if (report.incidents.size() > 1) show_incident_lines(report, page);
  // Of a run that recovered from several, the lines are enough.
  const bool is_why = report.outcome == RunOutcome::kFailed ||
                      report.outcome == RunOutcome::kUnfinished || report.incidents.size() == 1;
  if (is_why) show_incident(report, report.incidents.size() - 1, page);
  page.gap();
  page.heading(Ink::kDim, "`robustrun report -v` shows more");
}

void show_full(const RunReport& report, Page& page) {
  show_not_resumed(report, page);
  page.item("why", why_words(report));
  page.item("now", now_words(report));
  page.item("run", run_words(report));
  page.item("workers", worker_words(report));
  page.item("places", report.placement);
  page.item("progress", progress_words(report));
  page.item("data", data_words(report));
  show_bandwidth(report, page);
  page.item("time", time_words(report.time));
  page.item("start", cost_words(report.costs, StartKind::kStart));
  page.item("restarts", cost_words(report.costs, StartKind::kRestart));
  show_stages(report, page);
  page.item("logs", report.log_directory);
  show_dropped(report, page);
  show_list("killed", report.killed, page);
  show_injected(report, page);
  show_takeovers(report, page);
  show_moved(report, page);
  show_evictions(report, page);
  show_list("hangs", hang_lines(report), page);
  show_list("alarms", alarm_lines(report), page);
  if (report.checkpoints) {
    page.item("saves", checkpoint_words(*report.checkpoints));
    show_list("loaded", load_words(*report.checkpoints), page);
    show_list("set aside", report.checkpoints->set_aside, page);
    const std::string saved = saved_copies_words(*report.checkpoints);
    if (!saved.empty()) page.item("lost nodes", saved);
    show_list("copies lost", report.checkpoints->copies_lost, page);
  }
  for_incidents(
      report, [&](std::size_t i) { show_incident_in_full(report, i, page); },
      [&](const std::string& hidden) {
        page.gap();
        page.heading(Ink::kDim, hidden);
      });
}

}  // namespace

std::string render_report(const RunReport& report, const ReportStyle& style) {
  Page page(style.colour, style.width);
  page.heading(ink_of(report), headline(report));
  std::vector<std::string> before;
  for (const EarlierStart& start : report.earlier_starts) before.push_back(in_words(start));
  show_list("before", before, page);
  style.detail == Detail::kFull ? show_full(report, page) : show_short(report, page);
  return page.take();
}

}  // namespace robustrun::supervisor
