#include <filesystem>

#include "cli/commands/commands.h"
#include "cli/commands/detach.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/runs/find_run.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

int resume_command(std::span<const std::string> argv, const Surroundings& around, int announce_fd) {
  const auto line = parse_resume_line(argv);
  if (!line) return complain_of_usage(around, "resume", line.error().what);
  if (line->help) {
    print(command_help("resume", terminal_columns(around)));
    return 0;
  }
  if (line->detach && announce_fd < 0) return start_detached("resume", argv, around);
  const auto journal = find_journal(line->run, around);
  if (!journal) return complain(journal.error());
  std::error_code error;
  const auto path = std::filesystem::absolute(*journal, error);
  return supervisor::resume_job(path.parent_path().string(), announce_fd);
}

}  // namespace robustrun::cli
