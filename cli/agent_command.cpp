#include <fmt/format.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/core/build_id.h"
#include "base/io/fd.h"
#include "cli/commands.h"
#include "cli/program.h"
#include "launcher/limits.h"

namespace robustrun::cli {
namespace {

constexpr int kChannelFd = 3;
constexpr int kExitFailed = 1;

// The launcher shows what comes on stderr.
int say(int exit_code, std::string_view what) {
  const std::string line = fmt::format("robustrun agent: {}\n", what);
  static_cast<void>(base::write_all(STDERR_FILENO, line));
  return exit_code;
}

}  // namespace

int agent_command(bool over_network) {
  if (!over_network) return agent::run_agent(base::Fd(kChannelFd));
  auto credential = agent::read_credential();
  if (!credential) return say(kExitFailed, credential.error().what);
  if (!credential->build.empty() && credential->build != base::build_id()) {
    return say(launcher::kExitOtherBuild, "another build than the supervisor's is installed here");
  }
  agent::RemoteAgent start;
  if (!credential->count.empty()) {
    const auto workers =
        count_workers(credential->count, "--nproc-per-node=" + credential->count,
                      look_around("robustrun", this_machine()), credential->interpreter);
    if (!workers) return say(kExitFailed, workers.error().what);
    start.self.slots = *workers;
  }
  start.credential = *std::move(credential);
  start.self.node = start.credential.node;
  start.self.generation = start.credential.generation;
  start.watch_stdin = true;
  return agent::run_remote_agent(std::move(start));
}

}  // namespace robustrun::cli
