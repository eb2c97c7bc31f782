#include "cli/runs/run_status.h"

#include "cli/options/limits.h"
#include "cli/runs/read_journal.h"
#include "supervisor/console/console_log.h"
#include "supervisor/control/file.h"
#include "supervisor/control/json.h"
#include "supervisor/control/operation_rows.h"

namespace robustrun::cli {

using supervisor::RunStatus;

base::Result<RunStatus> ask_status(supervisor::ControlClient& client,
                                   std::chrono::milliseconds age_max) {
  client.wait_at_most(kSupervisorAnswerMax);
  supervisor::ControlFields request = {{"command", "status"}};
  if (age_max.count() > 0) request["age_max_ms"] = std::to_string(age_max.count());
  const std::string answer = RR_TRY(client.ask_text(request));
  return supervisor::read_status_answer(answer);
}

base::Result<RunStatus> ask_changes(supervisor::ControlClient& client,
                                    supervisor::StatusMirror& mirror,
                                    std::optional<std::uint32_t> rank) {
  client.wait_at_most(kSupervisorAnswerMax);
  const std::string answer =
      RR_TRY(client.ask_text(supervisor::changes_request(mirror.version(), rank)));
  auto news = supervisor::read_changes_answer(answer);
  if (news) {
    mirror.take(*std::move(news), rank);
    return mirror.status();
  }
  if (news.error().code == base::Errc::kInvalidArgument)
    return ask_status(client, kTopInterval / 2);
  return std::unexpected(news.error());
}

RunStatus status_of_entries(const std::vector<supervisor::JournalEntry>& entries,
                            const std::string& directory, const Surroundings& around) {
  RunStatus status = supervisor::status_of_journal(entries);
  status.run_directory = directory;
  const std::string console = supervisor::console_log_file(directory);
  if (around.machine->kind(console) == PathKind::kFile) status.console_log = console;
  if (const auto file = supervisor::read_control_file(directory)) {
    status.host = file->host;
    status.pid = file->pid;
  }
  return status;
}

base::Result<RunStatus> read_journal_status(const std::string& directory,
                                            const Surroundings& around) {
  const auto readout = RR_TRY(read_journal(directory + "/journal"));
  return status_of_entries(readout.entries, directory, around);
}

}  // namespace robustrun::cli
