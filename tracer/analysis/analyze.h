#pragma once
// Derives a verdict from snapshots of all ranks: which rank blocks the job. Pure: the same input
// gives the same verdict; no clock, no I/O.
//
// Rules R0 to R12 (docs/diagnosis.md) are tried in a fixed order on a wait graph of the earliest
// unfinished operation of every rank in every communicator. The first rule that fires names the
// culprits; the next one that would name others is the runner-up. Based on Mycroft's Algorithm 2
// (arXiv 2509.03018) and ByteRobust's stack aggregation (arXiv 2509.16293), with further rules for
// what NCCL's plugin can see. Missing ranks weaken a verdict; they never make a healthy rank the
// culprit.

#include "tracer/analysis/snapshot.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::tracer {

// Takes O(sum of memberships) time, plus sorting. Never fails: a verdict kUndecided says what is
// missing.
[[nodiscard]] Verdict analyze(const FleetSnapshot& fleet);

// Analyzes a job in which a rank has failed. Finds whether ranks had called different operations
// (R6): some libraries then end the process that receives the wrong data. Otherwise finds whether a
// rank ended early with exit code 0 while others waited for it (R1). No other rule is tried,
// because the rank that failed is known, and the others were waiting for it. Uses the last state
// that each rank reported, dead or not. The last operation of a rank counts as unfinished, because
// a call that failed looks like one that completed. kNothing: neither was found.
[[nodiscard]] Verdict analyze_failed(FleetSnapshot fleet);

}  // namespace robustrun::tracer
