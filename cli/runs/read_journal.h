#pragma once
// The journal of a run, for subcommands: damage is reported once, in one way.

#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "supervisor/run_dir/journal.h"

namespace robustrun::cli {

// Reads the journal at `path` and reports on stderr, once per process, which part is lost. A
// journal without a record counts as damaged. Errors name the file. Blocking. Not to be called
// while `robustrun top` shows its screen.
[[nodiscard]] base::Result<supervisor::JournalReadout> read_journal(const std::string& path);

// Adds an entry of this moment to those of an active run, so that accounts of its time reach until
// now. `wall_now`: Unix time. Changes nothing if the run has ended, or its start is not known.
void bring_to_now(std::vector<supervisor::JournalEntry>& entries, base::Nanos wall_now);

// For commands that do not use the journal: reports on stderr which part is lost, or why it cannot
// be read.
void note_damage(const std::string& run_directory);

}  // namespace robustrun::cli
