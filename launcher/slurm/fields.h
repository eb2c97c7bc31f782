#pragma once
// One record of `scontrol show … --oneliner`: "JobId=1 JobName=a b JobState=RUNNING …". Pure.

#include <map>
#include <optional>
#include <string_view>

#include "base/core/clock.h"

namespace robustrun::launcher {

class SlurmFields {
 public:
  // `shown` must outlive the fields.
  explicit SlurmFields(std::string_view shown);
  // The field's value up to the next blank; empty if the field is missing.
  [[nodiscard]] std::string_view value(std::string_view name) const;
  // The field's value as Unix time; nullopt: the field is missing, says "Unknown" or "None", or is
  // cut off. Reads seconds, which show_job_argv() asks for by SLURM_TIME_FORMAT, and Slurm's own
  // format, in this machine's local time.
  [[nodiscard]] std::optional<base::Nanos> time(std::string_view name) const;

 private:
  std::map<std::string_view, std::string_view> fields_;
};

// The line of `shown` whose JobId is `job` (SLURM_JOB_ID); all of `shown` if no line has it.
// `shown` has several lines if `job` is also the number of a job array: scontrol then shows all its
// tasks.
[[nodiscard]] std::string_view record_of(std::string_view shown, std::string_view job);

// `state`: a JobState. Whether the job has begun and not ended: RUNNING, SUSPENDED, STOPPED or
// RESIZING; also SIGNALING, a flag that Slurm may show in place of the state while it sends a
// signal (squeue(1), job state codes).
[[nodiscard]] bool is_running_job(std::string_view state);

}  // namespace robustrun::launcher
