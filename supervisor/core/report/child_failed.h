#pragma once
// The failure that ended a run, in the two forms in which torchrun writes it. Pure.

#include <string>
#include <vector>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

// torchrun's ChildFailedError block (docs/compat.md) for the attempt that ended the run. Scripts
// search logs for it, so it is byte for byte what torch 2.13's ChildFailedError.format_msg() writes
// for the same failures (tests/python/test_child_failed.py compares). Ends with a newline; times
// are in the local time zone. Empty if no worker's failure ended the run; workers that died after
// our stop order do not count as failures.
std::string child_failed_block(const std::vector<JournalEntry>& entries);

// Content for our own TORCHELASTIC_ERROR_FILE, if another torchrun started robustrun: that of the
// first failing rank's error file. If its message is an object, errorCode is added to the message.
// Empty if that rank left no error file.
std::string nested_error_json(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
