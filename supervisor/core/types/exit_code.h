#pragma once
// Every exit code of robustrun; docs/operations.md explains them.

#include "base/core/exit_status.h"

namespace robustrun::supervisor {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;          // any failure with --compat=torchrun
inline constexpr int kExitUsage = 2;            // bad input; nothing was started
inline constexpr int kExitSuspect = 3;          // robustrun replay: it named one machine
inline constexpr int kExitCandidates = 4;       // robustrun replay: it named several
inline constexpr int kExitDoNotRequeue = 93;    // a worker asked not to be requeued
inline constexpr int kExitInfrastructure = 94;  // not the script's fault: please requeue
inline constexpr int kExitCrashLoop = 95;       // a crash loop (docs/glossary.md)
// The time limit (--time-limit or the scheduler's), as with timeout(1); also in compat mode.
inline constexpr int kExitTimeLimit = 124;
inline constexpr int kExitCannotRun = 126;  // the program is there but cannot be run
inline constexpr int kExitNotFound = 127;  // no such program on the node
inline constexpr int kExitSignalBase = 128;  // + signal number

// The run's code for a first failing worker: the worker's own code (128 + n for signal n), but 1
// for 90 to 99 except 93. Always 1 in compat mode. Never 0.
int exit_code_for_worker(const base::ExitStatus& status, bool compat);

// For a worker whose program could not be run: as in a shell 127 (not found) or 126; 1 in compat
// mode.
int exit_code_for_start_failure(int os_errno, bool compat);

// For a run that signal n ended: 128 + n; 1 in compat mode.
int exit_code_for_signal(int signal, bool compat);

// 94; 1 in compat mode.
int exit_code_for_infrastructure(bool compat);

}  // namespace robustrun::supervisor
