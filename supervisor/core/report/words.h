#pragma once
// Sentences that the report's text and its HTML page share. Pure; a sentence is empty where the
// report does not tell. Texts from workers are not escaped: escape before showing. Sentences about
// one part of the report stand beside its data: `time/account`, `time/costs`, `time/stages`,
// `checkpoints`, `alarms`. README.md shows a report; docs/ and tests/e2e quote single lines.

#include <string>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

// The name of the program's file, or "run".
[[nodiscard]] std::string program_words(const RunReport& report);
// "train.py succeeded after 3 min 12 s, with 1 incident on the way"
[[nodiscard]] std::string headline(const RunReport& report);
// "brave-otter-4711, started 2026-08-01 10:00:00 UTC"
[[nodiscard]] std::string run_words(const RunReport& report);
// "4 on 2 nodes, 3 attempts"
[[nodiscard]] std::string worker_words(const RunReport& report);
// "reached step 299, 300 steps done, loss 0.0421"
[[nodiscard]] std::string progress_words(const RunReport& report);
// "rank 3 waited longest for batches, 41 s in all; 2 records skipped". A wait below 1 s, or
// below `wait_told`, is left out. Empty if nothing is left to tell.
[[nodiscard]] std::string data_words(const RunReport& report, base::Nanos wait_told = {});
// The last failure, and why the run ended; empty if it succeeded or is active.
[[nodiscard]] std::string why_words(const RunReport& report);

// What failed: "rank 1 on vm", "the agent on n7".
[[nodiscard]] std::string subject_of(const Incident& incident);
// "ZeroDivisionError: division by zero, in load_batch (data.py:12)"
[[nodiscard]] std::string error_words(const Incident& incident);
// The failure in one line.
[[nodiscard]] std::string failure_words(const Incident& incident);
// How to see an active run's present step. Empty: the run is not active.
[[nodiscard]] std::string now_words(const RunReport& report);
// How far the recovery got before the next failure or the end of the journal.
[[nodiscard]] std::string recovery_words(const Incident& incident);
// "20 steps lost: step 120 was done, training went on with step 101"
[[nodiscard]] std::string step_words(const Incident& incident);
// The last checkpoint before the incident, and from where training went on.
[[nodiscard]] std::string saved_words(const Incident& incident);

}  // namespace robustrun::supervisor
