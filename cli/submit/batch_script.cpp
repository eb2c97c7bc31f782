#include "cli/submit/batch_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

constexpr std::string_view kSupervise = R"(
# Slurm's signals reach this shell alone; the supervisor asks Slurm what they mean.
trap 'interrupted=1; kill -TERM "$supervisor" 2>/dev/null' TERM USR1

# A dead supervisor is replaced while training continues, unless it dies again and again.
quick_deaths=0
while :; do
  began=$SECONDS
  "${supervise[@]}" &
  supervisor=$!
  while interrupted=; wait "$supervisor"; code=$?; [ -n "$interrupted" ]; do :; done
  "$robustrun" status "$run" >/dev/null 2>&1
  [ $? -eq 1 ] || break # 1: the run is active without a supervisor
  quick_deaths=$((SECONDS - began > 60 ? 0 : quick_deaths + 1))
  [ "$quick_deaths" -lt 5 ] || break
  echo "robustrun: the supervisor ended with code $code; starting another one" >&2
  supervise=("$robustrun" resume "$run")
done
)";

// The line that a copy of the script changes.
constexpr std::string_view kCopies =
    R"sh(robustrun_copies=0 # copies of this script in a row that failed within an hour each
)sh";

constexpr std::string_view kQueueCopy = R"sh(
# Of an array this task alone; the task's own number may be the array's.
job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
job=${job:-$SLURM_JOB_ID}

# Where Slurm refuses to requeue: a new job runs this script once this job has ended. Not if the job
# no longer runs: it was requeued after all, or cancelled. A requeued job waits two minutes as well.
# SLURM_RESTART_COUNT is this job's own.
queue_copy() {
  local script next copies=0
  # A series of short jobs, each of which uses its time, may go on.
  [ "$SECONDS" -ge 3600 ] || [ "$code" -eq 124 ] || copies=$((robustrun_copies + 1))
  if [ "$copies" -gt 10 ]; then
    echo "robustrun: 10 copies in a row have failed within an hour each: no other one is queued" >&2
    return 1
  fi
  scontrol show job --oneliner "$job" |
    grep -q "^JobId=$SLURM_JOB_ID .* JobState=RUNNING " || return
  script=$(scontrol write batch_script "$SLURM_JOB_ID" -) || return
  script=${script/robustrun_copies=$robustrun_copies/robustrun_copies=$copies}
  next=$(env -u SLURM_RESTART_COUNT sbatch --parsable --dependency="afterany:$job" \
    --begin=now+2minutes ${SLURM_ARRAY_TASK_ID:+--array="$SLURM_ARRAY_TASK_ID"} \
    <<<"$script") || return
  echo "robustrun: Slurm does not requeue this job: job ${next%%;*} goes on with it" >&2
}
)sh";

constexpr std::string_view kRequeue = R"(
case $code in
  {})
    # Without the hosts that failed the run. Slurm ends this shell as soon as the job is queued.
    echo "robustrun: exit code $code: queueing the job again" >&2
    trap '' TERM
    # 93: it would not help.
    timeout -s KILL 90 "$robustrun" requeue "$run" || [ $? -eq 93 ] ||
      scontrol requeue "$job" || queue_copy ||
      echo "robustrun: the job could not be queued again" >&2
    ;;
esac
)";

}  // namespace

std::string batch_script(const BatchJob& job) {
  std::string text = "#!/bin/bash\n";
  for (const std::string& option : job.sbatch) {
    text += fmt::format("#SBATCH {}\n", shell_quoted(option));
  }
  text += fmt::format(
      "# Made by robustrun submit; may be edited, and given to sbatch.\n\n"
      "robustrun={}\n"
      "run=$PWD/robustrun-runs/slurm-$SLURM_JOB_ID${{SLURM_RESTART_COUNT:+-$SLURM_RESTART_COUNT}}\n"
      "supervise=(\"$robustrun\" --slurm --run-dir=\"$run\"",
      shell_quoted(job.robustrun));
  for (const std::string& word : job.words) text += " " + shell_quoted(word);
  text += ")\n";
  if (!job.requeue_codes.empty()) text += kCopies;
  if (!job.node_history.empty()) {
    text += fmt::format("export ROBUSTRUN_NODE_HISTORY={}\n", shell_quoted(job.node_history));
  }
  text += kSupervise;
  if (!job.requeue_codes.empty()) {
    text += kQueueCopy;
    text += fmt::format(fmt::runtime(kRequeue), fmt::join(job.requeue_codes, "|"));
  }
  return text + "exit \"$code\"\n";
}

}  // namespace robustrun::cli
