#include "launcher/slurm/notice.h"

#include <utility>

#include "base/core/text.h"
#include "base/io/tool.h"
#include "launcher/limits.h"
#include "launcher/slurm/fields.h"

namespace robustrun::launcher {

base::Result<SlurmNotice> read_slurm_notice(std::string_view shown, std::uint32_t restarts,
                                            base::Nanos now, base::Nanos warning) {
  using enum SlurmNotice::Why;
  const SlurmFields fields(shown);
  const std::string_view state = fields.value("JobState");
  if (fields.value("JobId").empty() || state.empty()) {
    return base::fail(base::Errc::kCorrupt, "cannot learn from scontrol why Slurm ends the job");
  }
  const std::string job = "job " + base::printable(fields.value("JobId"));
  const std::string_view reason = fields.value("Reason");
  const std::string_view preempted = fields.value("PreemptTime");
  const bool running = is_running_job(state);
  const auto end = fields.time("EndTime");
  if (state == "PREEMPTED" || (!preempted.empty() && preempted != "None")) {
    return SlurmNotice{kPreempted, "Slurm preempts " + job};
  }
  if (state == "TIMEOUT" || state == "DEADLINE" || reason == "TimeLimit") {
    return SlurmNotice{kTimeLimit, "Slurm ends " + job + " at its time limit"};
  }
  if (running && end && *end - now <= warning) {
    return SlurmNotice{kTimeLimitNear, "the time limit of " + job + " is near", end};
  }
  if (running) return SlurmNotice{};
  if (base::parse_int<std::uint32_t>(fields.value("Restarts")).value_or(0) > restarts) {
    return SlurmNotice{kRequeued, job + " is requeued"};
  }
  if (state == "NODE_FAIL" || reason == "NodeDown") {
    return SlurmNotice{kNodeFailed, "Slurm ends " + job + ": a node of it failed"};
  }
  return SlurmNotice{kCancelled, job + " was cancelled"};
}

bool requeues_itself(std::string_view version, std::string_view job, std::string_view partition) {
  constexpr std::pair kFirst{24U, 5U};
  const std::string_view text = base::trim(version);
  const auto parts = base::split(text.substr(text.rfind(' ') + 1), '.');
  if (parts.size() < 2) return false;
  const auto year = base::parse_int<std::uint32_t>(parts[0]);
  const auto month = base::parse_int<std::uint32_t>(parts[1]);
  if (!year || !month || std::pair{*year, *month} < kFirst) return false;
  const SlurmFields shown(job);
  const std::string_view preempted = shown.value("PreemptTime");
  return !preempted.empty() && preempted != "None" && shown.value("Requeue") != "0" &&
         SlurmFields(partition).value("PreemptMode").find("REQUEUE") != std::string_view::npos;
}

SlurmNotice ask_slurm_notice(const SlurmOptions& options) {
  const auto shown = base::run_tool(show_job_argv(options), kSlurmNoticeWait);
  if (!shown) return {};
  const base::Nanos now = base::SystemClock().wall_time();
  return read_slurm_notice(record_of(shown->out, options.job), options.restarts, now,
                           options.warning)
      .value_or(SlurmNotice{});
}

}  // namespace robustrun::launcher
