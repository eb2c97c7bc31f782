#pragma once
// The failure that ended a run, in the two forms that torchrun writes it in. Pure.

#include <string>
#include <vector>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

// torchrun's ChildFailedError block (docs/compat.md) for the attempt that ended the run: byte for
// byte what torch 2.13's ChildFailedError.format_msg() writes for the same failures, because
// scripts search logs for it (tests/python/test_child_failed.py compares). Ends with a newline;
// times are in the local time zone. Empty when no worker's failure ended the run; workers that died
// after our stop order do not count as failures.
std::string child_failed_block(const std::vector<JournalEntry>& entries);

// Content for our own TORCHELASTIC_ERROR_FILE, where another torchrun started robustrun: the error
// file of the first failing rank; message.errorCode is added if the message is an object. Empty
// when that rank left none.
std::string nested_error_json(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
