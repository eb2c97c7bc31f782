#include "launcher/slurm/job_end.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/io/tool.h"
#include "launcher/limits.h"
#include "launcher/slurm/fields.h"

namespace robustrun::launcher {

base::Result<std::optional<base::Nanos>> read_job_end(std::string_view shown) {
  const SlurmFields fields(shown);
  if (fields.value("JobId").empty() || !is_running_job(fields.value("JobState"))) {
    return base::fail(base::Errc::kCorrupt, "scontrol does not show a running job");
  }
  // Slurm shows the end of such a job as a year after its start.
  if (fields.value("TimeLimit") == "UNLIMITED") return std::nullopt;
  const auto end = fields.time("EndTime");
  if (!end) {
    return base::fail(base::Errc::kCorrupt,
                      fmt::format("scontrol shows 'EndTime={}', which is no time",
                                  base::printable(fields.value("EndTime").substr(0, 100))));
  }
  return end;
}

base::Result<std::optional<base::Nanos>> ask_job_end(const SlurmOptions& options) {
  const auto done = RR_TRY(base::run_tool(show_job_argv(options), kSlurmJobEndWait));
  if (!done.status.success()) {
    return base::fail(base::Errc::kUnavailable,
                      fmt::format("scontrol ended with {}: {}", base::describe(done.status),
                                  base::printable(base::trim(done.err).substr(0, 200))));
  }
  return read_job_end(record_of(done.out, options.job));
}

}  // namespace robustrun::launcher
