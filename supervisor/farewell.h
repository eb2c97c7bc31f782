#pragma once
// The last words of a run: the report on stderr, torchrun's error block, --summary-json and our
// own TORCHELASTIC_ERROR_FILE, all made from the journal as `robustrun report` would.

#include <string>

#include "supervisor/run_request.h"

namespace robustrun::supervisor {

// Failures (a full disk, an unreadable journal) are logged; the exit code stays what it was.
void say_farewell(const RunRequest& request, const std::string& journal_path);

}  // namespace robustrun::supervisor
