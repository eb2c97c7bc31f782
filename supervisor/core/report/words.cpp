#include "supervisor/core/report/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/core/words.h"
#include "supervisor/core/report/metric_words.h"
#include "supervisor/core/report/pace.h"
#include "supervisor/core/report/page.h"

namespace robustrun::supervisor {
namespace {

constexpr base::Nanos kDataWaitTold = std::chrono::seconds(1);
constexpr base::Nanos kAgeTold = std::chrono::seconds(1);

}  // namespace

std::string program_words(const RunReport& report) {
  const std::string name = report.program.substr(report.program.rfind('/') + 1);
  return name.empty() ? "run" : name;
}

std::string in_words(const EarlierStart& start) {
  std::string text = fmt::format("{}: ", start.run_id);
  text += start.exit_code ? fmt::format("exit code {} after ", *start.exit_code) : "no end known, ";
  text += base::duration_words(start.duration);
  if (start.steps > 0) text += ", " + base::counted(start.steps, "step");
  if (start.incidents > 0) text += ", " + base::counted(start.incidents, "incident");
  return start.reason.empty() ? text : fmt::format("{}: {}", text, start.reason);
}

std::string headline(const RunReport& report) {
  const std::string program = program_words(report);
  if (report.is_active) {
    return fmt::format("{} is running, for {} so far", program,
                       base::duration_words(report.duration));
  }
  if (report.outcome == RunOutcome::kUnfinished) {
    return fmt::format("{}: no end known, {} in the journal", program,
                       base::duration_words(report.duration));
  }
  std::string text = fmt::format("{} {} after {}", program, to_string(report.outcome),
                                 base::duration_words(report.duration));
  if (report.exit_code.value_or(0) != 0) text += fmt::format(", exit code {}", *report.exit_code);
  if (report.outcome == RunOutcome::kSucceeded && !report.incidents.empty()) {
    text += fmt::format(", with {} on the way", base::counted(report.incidents.size(), "incident"));
  }
  return text;
}

std::string run_words(const RunReport& report) {
  std::string text = report.run_id;
  const std::string started = utc_words(report.started);
  if (!started.empty()) text += fmt::format("{}started {}", text.empty() ? "" : ", ", started);
  return text;
}

std::string worker_words(const RunReport& report) {
  if (report.world_size == 0) return "";
  return fmt::format("{} on {}, {}", report.world_size, base::counted(report.nodes, "node"),
                     base::counted(report.attempts, "attempt"));
}

std::string progress_words(const RunReport& report) {
  std::string text;
  if (report.step) text = fmt::format("reached step {}", *report.step);
  if (report.steps > 0) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", base::counted(report.steps, "step"),
                        report.attempts > 1 ? "since the last start" : "done");
  }
  if (report.steps_per_second) {
    text += fmt::format("{}{:.4g} steps/s{}", text.empty() ? "" : ", ", *report.steps_per_second,
                        report.outcome == RunOutcome::kUnfinished ? "" : " on average");
  }
  if (!text.empty() && report.read_ago && *report.read_ago >= kAgeTold) {
    text +=
        fmt::format(", as of {} ago",
                    base::in_seconds(std::chrono::floor<std::chrono::seconds>(*report.read_ago)));
  }
  if (report.left) text += ", " + eta_words(*report.left);
  for (const wire::Metric& metric : report.metrics) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", metric_words(metric));
  }
  return text;
}

std::string data_words(const RunReport& report, base::Nanos wait_told) {
  std::string text;
  if (report.data_waited >= std::max(wait_told, kDataWaitTold)) {
    text = fmt::format("rank {} waited longest for batches, {} {}", report.data_rank,
                       base::duration_words(report.data_waited),
                       report.attempts > 1 ? "since the last start" : "in all");
  }
  if (report.data_skipped == 0) return text;
  return fmt::format("{}{}{} skipped", text, text.empty() ? "" : "; ",
                     base::counted(report.data_skipped, "record"));
}

std::string subject_of(const Incident& incident) {
  if (incident.is_growth) return "the group grows";
  if (!incident.cause.empty()) return "a worker that ended early";
  if (incident.rank) {
    return fmt::format("rank {}{}", *incident.rank,
                       incident.node.empty() ? "" : " on " + incident.node);
  }
  if (incident.node.empty()) return "the job";
  // Without a rank, `ended` tells of a lost agent.
  return incident.ended.empty() ? incident.node : "the agent on " + incident.node;
}

std::string error_words(const Incident& incident) {
  if (incident.exception.empty()) return incident.error_message;
  return incident.exception + (incident.place.empty() ? "" : ", in " + incident.place);
}

std::string failure_words(const Incident& incident) {
  if (!incident.cause.empty()) return incident.cause;
  const std::string error = error_words(incident);
  const std::string what = error.empty() ? incident.ended : error.substr(0, error.find('\n'));
  return subject_of(incident) + (what.empty() ? "" : ": " + what);
}

std::string why_words(const RunReport& report) {
  if (report.is_active || report.outcome == RunOutcome::kSucceeded) return "";
  if (report.outcome != RunOutcome::kFailed || report.incidents.empty()) return report.reason;
  const Incident& last = report.incidents.back();
  if ((last.cause.empty() || last.is_growth) && !last.rank) return report.reason;
  return fmt::format("{}; {}", failure_words(last), report.reason);
}

std::string now_words(const RunReport& report) {
  return report.is_active ? "`robustrun status` shows its present step" : "";
}

std::string recovery_words(const Incident& incident) {
  const auto has = [&](RecoveryPhase phase) {
    return std::ranges::find(incident.phases, phase, &Phase::name) != incident.phases.end();
  };
  const std::string time = base::duration_words(incident.recovery);
  const std::string warm =
      incident.warm == 0 ? "" : ", " + base::counted(incident.warm, "worker") + " started warm";
  if (has(RecoveryPhase::kFirstStep)) return time + " until the first step" + warm;
  if (has(RecoveryPhase::kInterpreterStart)) return time + " until the script ran again" + warm;
  if (has(RecoveryPhase::kStartProcesses)) return time + " until the workers were restarted" + warm;
  return "began; no worker is known to have been restarted";
}

std::string step_words(const Incident& incident) {
  if (!incident.step_before) return "";
  if (!incident.step_after) {
    return fmt::format("step {} was the last before the failure", *incident.step_before);
  }
  const std::string went_on = fmt::format("step {} was done, training went on with step {}",
                                          *incident.step_before, *incident.step_after);
  if (!incident.steps_lost) return went_on;
  return fmt::format("{} lost: {}",
                     base::counted(static_cast<std::uint64_t>(*incident.steps_lost), "step"),
                     went_on);
}

std::string saved_words(const Incident& incident) {
  std::string text;
  if (incident.committed_step) {
    text = fmt::format("the last checkpoint before was of step {}", *incident.committed_step);
    if (incident.steps_since_commit) {
      text += fmt::format(
          ", {} earlier",
          base::counted(static_cast<std::uint64_t>(*incident.steps_since_commit), "step"));
    }
  }
  if (!incident.loaded_step) return text;
  return text + fmt::format("{}training went on from step {}{}", text.empty() ? "" : "; ",
                            *incident.loaded_step,
                            incident.loaded_from.empty() ? "" : ", from " + incident.loaded_from);
}

}  // namespace robustrun::supervisor
