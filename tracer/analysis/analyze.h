#pragma once
// Derives a verdict from snapshots of all ranks: which rank blocks the job. Pure: the same input
// gives the same verdict; no clock, no I/O.
//
// Rule R0 (docs/diagnosis.md) makes a wait graph from the earliest unfinished operation of every
// rank in every communicator. The other rules, up to R12, are tried on it in a fixed order. The
// first rule that applies names the culprits; the next one that would name others gives the
// runner-up. Based on Mycroft's Algorithm 2 (arXiv 2509.03018) and ByteRobust's stack aggregation
// (arXiv 2509.16293), with further rules for facts that only NCCL's plugin sees. Missing ranks
// weaken a verdict; they never make a healthy rank the culprit.

#include "tracer/analysis/snapshot.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::tracer {

// Takes O(sum of memberships) time, plus sorting. Never fails: the verdict may be kUndecided.
[[nodiscard]] Verdict analyze(const FleetSnapshot& fleet);

// Analyzes a job in which a rank has failed, by the last state that each rank reported, dead or
// not. Finds whether ranks had called different operations (R6): some libraries then end the
// process that receives the wrong data. Otherwise finds whether a rank ended early with exit code 0
// while others waited for it (R1). No other rule is tried, because the failed rank is known, and
// the others were waiting for it. If a rank did not end well (RankSnapshot::ended_well), its last
// operation counts as unfinished, because a call that failed looks like one that completed.
// kNothing: neither was found.
[[nodiscard]] Verdict analyze_failed(FleetSnapshot fleet);

}  // namespace robustrun::tracer
