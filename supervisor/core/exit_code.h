#pragma once
// Every exit code of robustrun (decisions.md 7; the table in docs/operations.md is made from it).

#include "base/core/exit_status.h"

namespace robustrun::supervisor {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;          // any failure with --compat=torchrun
inline constexpr int kExitUsage = 2;            // bad input; nothing was started
inline constexpr int kExitDoNotRequeue = 93;    // a worker said: do not requeue
inline constexpr int kExitInfrastructure = 94;  // not the script's fault: please requeue
inline constexpr int kExitCrashLoop = 95;       // the same failure before any progress
inline constexpr int kExitSignalBase = 128;     // + signal number

// The run's code for a first failing worker: its own (128 + n for signals), but 90 to 99 become
// 1, except 93; always 1 in compat mode.
int exit_code_for_worker(const base::ExitStatus& status, bool compat);

}  // namespace robustrun::supervisor
