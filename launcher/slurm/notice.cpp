#include "launcher/slurm/notice.h"

#include <ctime>
#include <optional>

#include "base/core/text.h"
#include "base/io/tool.h"
#include "launcher/limits.h"
#include "launcher/slurm/fields.h"

namespace robustrun::launcher {
namespace {

// Parses "2026-08-01T10:15:00", in local time.
std::optional<base::Nanos> wall_time(std::string_view text) {
  std::tm local{};
  const char* const end = ::strptime(std::string(text).c_str(), "%Y-%m-%dT%H:%M:%S", &local);
  if (end == nullptr) return std::nullopt;
  local.tm_isdst = -1;
  const std::time_t seconds = ::mktime(&local);
  if (seconds == -1) return std::nullopt;
  return std::chrono::seconds(seconds);
}

// For a running job Slurm may show a flag in place of the state (squeue(1), job state codes):
// SIGNALING while it sends a signal, which is when this is called.
bool is_running(std::string_view state) {
  return state == "RUNNING" || state == "SUSPENDED" || state == "SIGNALING" || state == "STOPPED" ||
         state == "RESIZING";
}

bool ends_within(const SlurmFields& fields, base::Nanos now, base::Nanos warning) {
  const auto end = wall_time(fields.value("EndTime"));
  return end && *end - now <= warning;
}

}  // namespace

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
  const bool running = is_running(state);
  if (state == "PREEMPTED" || (!preempted.empty() && preempted != "None")) {
    return SlurmNotice{kPreempted, "Slurm preempts " + job};
  }
  if (state == "TIMEOUT" || state == "DEADLINE" || reason == "TimeLimit") {
    return SlurmNotice{kTimeLimit, "Slurm ends " + job + " at its time limit"};
  }
  if (running && ends_within(fields, now, warning)) {
    return SlurmNotice{kTimeLimit, "the time limit of " + job + " is near"};
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

SlurmNotice ask_slurm_notice(const SlurmOptions& options) {
  const auto shown = base::run_tool(
      {options.commands + "/scontrol", "show", "job", "--oneliner", options.job}, kSlurmNoticeWait);
  if (!shown) return {};
  const base::Nanos now = base::SystemClock().wall_time();
  return read_slurm_notice(shown->out, options.restarts, now, options.warning)
      .value_or(SlurmNotice{});
}

}  // namespace robustrun::launcher
