#pragma once
// What does a failure look like? Pure: the facts of one failure and the rows of fault_table.h in,
// the row that explains it best out, with the line that says so. What is done about it: policy.h.
//
// Of the rows that fit, the order is: not a mere sequel of another rank's failure before a sequel;
// a programming error that ended the script before everything printed earlier; high confidence
// before low; the exception that ended the script before other lines; a later line before an
// earlier one, except that an earlier row wins on the same line. Without a fitting row the exit and
// its time say what can be said.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/types/fault_table.h"
#include "supervisor/core/types/health.h"
#include "supervisor/core/types/worker_events.h"

namespace robustrun::supervisor {

// How far the attempt had come. kStarting: the script was not seen to run on every rank.
enum class FaultPhase : std::uint8_t { kStarting, kBeforeFirstStep, kProgressing };

// Of a program's own making, not from outside: SIGABRT, SIGSEGV, …
bool is_crash(std::int32_t signal);

// Takes milliseconds at most, whatever the worker left: fault_lines.h has the bounds.
Classification classify(const WorkerExited& exited, FaultPhase phase,
                        const std::vector<FaultRow>& rows);
Classification classify(const WorkerStartFailed& failed, const std::vector<FaultRow>& rows);
// Of what the agent of `node` noticed; nothing if no row fits.
std::optional<Classification> classify(const NodeHealth& health, const std::string& node,
                                       const std::vector<FaultRow>& rows);
// Of what robustrun found out itself ("hang", "mismatch", "slow"), which `evidence` says in words.
Classification classify_finding(std::string_view finding, std::string evidence,
                                const std::vector<FaultRow>& rows);

}  // namespace robustrun::supervisor
