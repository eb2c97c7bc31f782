#pragma once
// A job of a batch system other than Slurm (launcher/slurm/): how an agent gets onto one of its
// hosts, when the job ends, and how it is queued again. cli/nodes/batch_hosts.h finds the job's
// hosts.
//
//   PBS          SSH; qstat -f: limit and used walltime; qrerun
//   Grid Engine  qrsh -inherit; qstat -xml -j: h_rt and start; qmod -rj
//   LSF          blaunch; bjobs -o time_left; brequeue
//
// Before the end of a job, the system signals all processes of the job's script at once. Scripts
// pass the signal on to robustrun, which therefore gets it twice. Agents on other hosts may get it,
// too.
//
// Grid Engine is tested with 8.1.9 of Debian (tests/e2e/nodes/test_grid_engine.py). PBS and LSF
// follow their manuals and are tested only with scripts in place of their programs: qstat(1B),
// qrerun(1B) of OpenPBS and PBS Professional; blaunch(1), bjobs(1), brequeue(1) of LSF.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace robustrun::launcher {

enum class BatchSystem : std::uint8_t { kNone, kPbs, kGridEngine, kLsf };

struct BatchJob {
  BatchSystem system = BatchSystem::kNone;
  std::string id;  // "7"; for a task of an array "7.3" (Grid Engine), "7[3]" (PBS, LSF)
  std::string commands;  // folder of the system's programs, found on PATH; empty: not found
  base::Nanos poll{};  // how often to ask for the job's end; 0: never
  template <class V>
  void fields(V& v) {
    v(1, "system", system);
    v(2, "id", id);
    v(3, "commands", commands);
    v(4, "poll", poll);
  }
};

// "PBS"
[[nodiscard]] std::string_view to_string(BatchSystem system);
// The program that shows a job. The system's other programs are in the same folder.
[[nodiscard]] std::string_view show_program(BatchSystem system);
// The first words of the command line that runs COMMAND on HOST; HOST and COMMAND follow them.
// Empty: SSH is used.
[[nodiscard]] std::vector<std::string> remote_shell(BatchSystem system);
[[nodiscard]] std::vector<std::string> show_argv(const BatchJob& job);
[[nodiscard]] std::vector<std::string> requeue_argv(const BatchJob& job);

// Signals by which the system warns a job of its end, or of its suspension, besides SIGTERM.
[[nodiscard]] std::vector<int> warning_signals(BatchSystem system);

// When the job's time limit ends it, as Unix time; nullopt: no time limit. `shown`: output of
// show_argv(). `now`: Unix time. kCorrupt: `shown` is not about a job, or its limit cannot be read.
[[nodiscard]] base::Result<std::optional<base::Nanos>> read_batch_end(BatchSystem system,
                                                                      std::string_view shown,
                                                                      base::Nanos now);

// Asks the batch system, and returns what read_batch_end() reads. Blocks for at most
// kSlurmJobEndWait.
[[nodiscard]] base::Result<std::optional<base::Nanos>> ask_batch_end(const BatchJob& job);

}  // namespace robustrun::launcher
