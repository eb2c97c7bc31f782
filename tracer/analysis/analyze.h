#pragma once
// Snapshots of all ranks to a verdict. Pure: same input, same verdict; no clock, no I/O.
//
// Answers "who does everybody wait for". Rules R0 to R11 (docs/diagnosis.md) are tried in a fixed
// order over a wait-for graph of the earliest unfinished operation of every rank in every
// communicator; the first that fires names the culprits, the next that would have named others is
// the runner-up. After Mycroft's Algorithm 2 (arXiv 2509.03018) and ByteRobust's stack
// aggregation (arXiv 2509.16293), with rules of our own for what NCCL's plugin can see.
// Ranks that are missing weaken a verdict; they never make a healthy rank the culprit.

#include "tracer/analysis/snapshot.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::tracer {

// O(sum of memberships) but for sorting. Never fails: kUndecided says what is missing.
[[nodiscard]] Verdict analyze(const FleetSnapshot& fleet);

// Of a group that one of its ranks has failed in: whether ranks had called different things (R6),
// which makes some libraries end whoever gets the wrong data. By the last that each rank said, dead
// or not; the last that it called counts as not done, as a call that failed looks like one that is.
// Nothing else is looked for: who died is known, and everybody else was waiting for that rank.
// kNothing: no such difference is known.
[[nodiscard]] Verdict analyze_failed(FleetSnapshot fleet);

}  // namespace robustrun::tracer
