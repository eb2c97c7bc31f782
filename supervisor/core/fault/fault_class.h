#pragma once
// Classification of failures by the fault table (fault_table.h): the row that explains a failure
// best, with the line of output that matched. Pure. The policy (policy.h) decides what is done.
//
// Of the rows that fit, the best is found by these criteria, in this order:
// 1. The row is no sequel of another rank's failure.
// 2. The line belongs to a programming error that ended the script.
// 3. The row has a higher confidence.
// 4. The line belongs to the exception that ended the script.
// 5. The line comes later; on the same line, the row comes earlier in the table.
//
// Without a fitting row, the way the worker ended and the phase of the attempt decide.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/types/fault_table.h"
#include "supervisor/core/types/health.h"
#include "supervisor/core/types/worker_events.h"

namespace robustrun::supervisor {

// How far the attempt had got. kStarting: the script was not seen to run on every rank.
enum class FaultPhase : std::uint8_t { kStarting, kBeforeFirstStep, kProgressing };

// Whether a program causes this signal itself: SIGABRT, SIGSEGV, …
bool is_crash(std::int32_t signal);

// Both take milliseconds at most, however much the worker printed: fault_lines.h has the bounds.
Classification classify(const WorkerExited& exited, FaultPhase phase,
                        const std::vector<FaultRow>& rows);
Classification classify(const WorkerStartFailed& failed, const std::vector<FaultRow>& rows);
// Classifies a report about the machine `node`; nullopt if no row fits. A user's order to evict the
// machine needs no row.
std::optional<Classification> classify(const NodeHealth& health, const std::string& node,
                                       const std::vector<FaultRow>& rows);
// Classifies one of robustrun's own findings ("hang", "mismatch", "slow"; FaultRow::found).
// `evidence`: in words.
Classification classify_finding(std::string_view finding, std::string evidence,
                                const std::vector<FaultRow>& rows);
// True for a syntax error, a missing module and the like: the script fails again in the same way.
bool is_surely_the_scripts(const Classification& what);

}  // namespace robustrun::supervisor
