#include "cli/nodes/join_token.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>

#include <filesystem>

#include "cli/options/limits.h"
#include "supervisor/run_dir/private_file.h"

namespace robustrun::cli {
namespace {

// NFS caches that a file is missing; opening its folder makes it look again.
void refresh(const std::string& path) {
  std::error_code error;
  const std::filesystem::directory_iterator folder(path.substr(0, path.rfind('/')), error);
}

}  // namespace

base::Result<wire::Credential> await_join_token(const std::string& path, base::Nanos wait) {
  const base::SystemClock clock;
  const base::Nanos until = clock.now() + wait;
  for (;;) {
    refresh(path);
    const auto line = supervisor::read_private_file(path);
    if (line) return wire::parse_credential(*line);
    if (line.error().code != base::Errc::kNotFound) return std::unexpected(line.error());
    if (clock.now() >= until) {
      return base::fail(
          base::Errc::kTimeout,
          fmt::format("cannot join the first task of this srun: {} did not appear within {}; all "
                      "tasks must see the same working directory",
                      path, std::chrono::floor<std::chrono::seconds>(wait)));
    }
    static_cast<void>(::poll(nullptr, 0, kJoinTokenPollMs));
  }
}

}  // namespace robustrun::cli
