#pragma once
// The status of a run for commands: from its supervisor, or from its journal.

#include <cstdint>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "supervisor/control/client.h"
#include "supervisor/core/status/changes.h"
#include "supervisor/core/status/status.h"
#include "supervisor/core/types/journal_entry.h"

namespace robustrun::cli {

// The supervisor's answer, within kSupervisorAnswerMax. `age_max`: how old it may be; more than
// a second counts as a second. Errors are those of ControlClient::ask_text().
[[nodiscard]] base::Result<supervisor::RunStatus> ask_status(
    supervisor::ControlClient& client, std::chrono::milliseconds age_max = {});

// As ask_status(), but transfers only what has changed since the last call with this `mirror`, and
// updates the mirror. One mirror per supervisor. `rank`: of this rank everything is transferred,
// changed or not.
// A supervisor of an earlier version that sends no changes is asked for the whole status; `mirror`
// then stays as it is.
[[nodiscard]] base::Result<supervisor::RunStatus> ask_changes(supervisor::ControlClient& client,
                                                              supervisor::StatusMirror& mirror,
                                                              std::optional<std::uint32_t> rank);

// The status of the run in `directory`, whose journal has these entries.
[[nodiscard]] supervisor::RunStatus status_of_entries(
    const std::vector<supervisor::JournalEntry>& entries, const std::string& directory,
    const Surroundings& around);
[[nodiscard]] base::Result<supervisor::RunStatus> read_journal_status(const std::string& directory,
                                                                      const Surroundings& around);

}  // namespace robustrun::cli
