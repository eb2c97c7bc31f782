#pragma once
// A run as Trace Event JSON, for Perfetto, chrome://tracing and speedscope. Pure.
//
// Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, object
// form. Process 0 is the run: its time, attempts, incidents, checkpoints and counters. Each node is
// a process with a track for its stages and one for each rank. Times are microseconds since the
// run's start. Spans of one track nest or are disjoint, as the format demands.

#include <string>
#include <vector>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

// Accepts any journal, even an incomplete or inconsistent one.
[[nodiscard]] std::string trace_events(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
