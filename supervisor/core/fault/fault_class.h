#pragma once
// Classification of a failure. Pure: the facts of one failure and the rows of fault_table.h in, the
// row that explains it best out, with the line that matched. policy.h has what is done about it.
//
// Rows that fit are preferred in this order: a row that is no sequel of another rank's failure; a
// programming error that ended the script; higher confidence; the exception that ended the script;
// a later line, and on the same line an earlier row. Without a fitting row the exit and its time
// decide.

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

// A signal that a program causes itself: SIGABRT, SIGSEGV, …
bool is_crash(std::int32_t signal);

// Takes milliseconds at most, however much the worker printed: fault_lines.h has the bounds.
Classification classify(const WorkerExited& exited, FaultPhase phase,
                        const std::vector<FaultRow>& rows);
Classification classify(const WorkerStartFailed& failed, const std::vector<FaultRow>& rows);
// Of a finding of the agent of `node`; nullopt if no row fits.
std::optional<Classification> classify(const NodeHealth& health, const std::string& node,
                                       const std::vector<FaultRow>& rows);
// Of one of robustrun's own findings ("hang", "mismatch", "slow"; FaultRow::found), with `evidence`
// in words.
Classification classify_finding(std::string_view finding, std::string evidence,
                                const std::vector<FaultRow>& rows);
// A syntax error, a missing module and the like: the same script fails in the same way again.
bool is_surely_the_scripts(const Classification& what);

}  // namespace robustrun::supervisor
