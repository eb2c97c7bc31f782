#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/io/fd.h"
#include "cli/commands/commands.h"
#include "cli/commands/detach.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/runs/find_run.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {
namespace {

// A resumed run executes what its folder says: for its owner only. On a network file system our
// files may belong to another user than we are, so a file that is made there is compared.
base::Status check_owner(const std::filesystem::path& journal) {
  struct stat status{};
  if (::stat(journal.c_str(), &status) != 0) return {};  // resume_job() tells
  uid_t ours = ::geteuid();
  std::string trial = (journal.parent_path() / ".owner.XXXXXX").string();
  if (const base::Fd made(::mkostemp(trial.data(), O_CLOEXEC)); made) {
    struct stat own{};
    if (::fstat(made.get(), &own) == 0) ours = own.st_uid;
    ::unlink(trial.c_str());
  }
  if (status.st_uid == ours) return {};
  return base::fail(base::Errc::kPermission,
                    fmt::format("cannot resume the run: {} belongs to user {}; only its owner can "
                                "resume it",
                                journal.string(), status.st_uid));
}

}  // namespace

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
  if (const auto ours = check_owner(path); !ours) return complain(ours.error());
  return supervisor::resume_job(path.parent_path().string(), announce_fd);
}

}  // namespace robustrun::cli
