#pragma once
// A job of a batch system other than Slurm (launcher/slurm/): how an agent gets onto one of its
// hosts, when the job ends, and how it is queued again. Its hosts: cli/nodes/batch_hosts.h.
//
//   PBS          SSH; qstat -f: limit and used walltime; qrerun
//   Grid Engine  qrsh -inherit; qstat -xml -j: h_rt and start; qmod -rj
//   LSF          blaunch; bjobs -o time_left; brequeue
//
// Before the end of a job, a system signals all processes of the job's script at once, and scripts
// pass the signal on to robustrun, which so gets it twice. Agents on other hosts may get it, too.
//
// Grid Engine is tested (8.1.9 of Debian: tests/e2e/nodes/test_grid_engine.py). The others are from
// the manuals, tested with played tools only: qstat(1B), qrerun(1B) of OpenPBS and PBS
// Professional; blaunch(1), bjobs(1), brequeue(1) of LSF.

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
  std::string id;  // of an array's task: Grid Engine "7.3", PBS and LSF "7[3]"
  std::string commands;  // folder of the system's programs; empty: they are not on PATH
  base::Nanos poll{};  // between two questions about the job's end; 0: none is asked
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
// The program that shows a job; its folder has the others.
[[nodiscard]] std::string_view show_program(BatchSystem system);
// The words before HOST COMMAND of a command that runs there; empty: SSH does.
[[nodiscard]] std::vector<std::string> remote_shell(BatchSystem system);
[[nodiscard]] std::vector<std::string> show_argv(const BatchJob& job);
[[nodiscard]] std::vector<std::string> requeue_argv(const BatchJob& job);

// Signals by which the system warns a job of its end, or of its suspension, besides SIGTERM.
[[nodiscard]] std::vector<int> warning_signals(BatchSystem system);

// `shown`: output of show_argv(). `now`: Unix time. Returns Unix time; nullopt: the job has no time
// limit. kCorrupt when `shown` is not about a job, or has a limit that cannot be read.
[[nodiscard]] base::Result<std::optional<base::Nanos>> read_batch_end(BatchSystem system,
                                                                      std::string_view shown,
                                                                      base::Nanos now);

// Asks the system. Blocks for at most kSlurmJobEndWait.
[[nodiscard]] base::Result<std::optional<base::Nanos>> ask_batch_end(const BatchJob& job);

}  // namespace robustrun::launcher
