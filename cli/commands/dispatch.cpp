// robustrun_main(): runs the chosen subcommand.

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/system/system_error.hpp>
#include <new>
#include <system_error>

#include "base/io/descriptor_limit.h"
#include "cli/commands/commands.h"
#include "cli/commands/detach.h"
#include "cli/text/terminal.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

// Opens descriptors 0 to 2 if they are closed; otherwise a socket of ours would become some
// library's stderr.
void fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

bool is_socket(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

// A script may be called "agent", so a socket or one of these options must be there as well.
bool called_as_agent(const std::vector<std::string>& argv) {
  if (argv.size() < 2 || argv[1] != "agent") return false;
  constexpr std::array<std::string_view, 6> kOptions = {"--stdin-credential", "--list-gpus",
                                                        "--gpu-states",       "--watch-gpus",
                                                        "--doctor",           "--try-plugin"};
  if (argv.size() == 3) return std::ranges::find(kOptions, argv[2]) != kOptions.end();
  return argv.size() == 2 && is_socket(kChannelFd);
}

// The command line that start_detached() makes.
bool called_as_detached(const std::vector<std::string>& argv) {
  return argv.size() > 2 && argv[1] == kDetachedWord && is_socket(kChannelFd);
}

// The terminal may go away: SIGHUP is ignored.
int detached(const std::vector<std::string>& argv) {
  static_cast<void>(::fcntl(kChannelFd, F_SETFD, FD_CLOEXEC));
  ::signal(SIGHUP, SIG_IGN);
  Surroundings around = look_around(argv.front(), this_machine());
  around.hangup_ignored = true;
  around.stdout_is_terminal = around.stderr_is_terminal = false;
  const auto rest = std::span(argv).subspan(3);
  return argv[2] == "resume" ? resume_command(rest, around, kChannelFd)
                             : run_command(rest, around, kChannelFd);
}

int dispatch(const std::vector<std::string>& argv) {
  if (called_as_agent(argv)) return agent_command(argv.size() == 3 ? argv[2] : "");
  if (called_as_detached(argv)) return detached(argv);
  const Surroundings around =
      look_around(argv.empty() ? "robustrun" : argv.front(), this_machine());
  std::span<const std::string> rest(argv);
  if (!rest.empty()) rest = rest.subspan(1);
  const Choice choice = choose_command(rest, around);
  if (!choice.passed_over.empty()) say(choice.passed_over);
  switch (choice.command) {
    case Command::kRun: return run_command(choice.argv, around);
    case Command::kReport: return report_command(choice.argv, around);
    case Command::kInject: return inject_command(choice.argv, around);
    case Command::kResume: return resume_command(choice.argv, around);
    case Command::kStatus: return status_command(choice.argv, around);
    case Command::kTop: return top_command(choice.argv, around);
    case Command::kStop: return stop_command(choice.argv, around);
    case Command::kAttach: return attach_command(choice.argv, around);
    case Command::kSubmit: return submit_command(choice.argv, around);
    case Command::kRequeue: return requeue_command(choice.argv, around);
    case Command::kKubernetes: return k8s_command(choice.argv, around);
    case Command::kHelp: return help_command(choice.argv, around);
    case Command::kVersion: return version_command();
    case Command::kCheck: return check_command(choice.argv, around);
    case Command::kPlan: return plan_command(choice.argv, around);
    case Command::kDiagnose: return diagnose_command(choice.argv, around);
    case Command::kNodes: return nodes_command(choice.argv, around);
    case Command::kPolicy: return policy_command(choice.argv, around);
    case Command::kUpdate: return update_command(choice.argv, around);
    case Command::kCkpt: return ckpt_command(choice.argv, around);
    case Command::kCache: return cache_command(choice.argv, around);
    case Command::kData: return data_command(choice.argv, around);
    case Command::kSim: return sim_command(choice.argv, around);
    case Command::kDemo: return demo_command(choice.argv, around);
    case Command::kDoctor: return doctor_command(choice.argv, around);
    case Command::kCompletion: return completion_command(choice.argv, around);
    case Command::kLs: return ls_command(choice.argv, around);
    case Command::kLogs: return logs_command(choice.argv, around);
    case Command::kRm: return rm_command(choice.argv, around);
    case Command::kReplay: return replay_command(choice.argv, around);
  }
  return supervisor::kExitUsage;
}

// Prints why the process ends; returns its exit code.
int give_up(const std::error_code& why, const char* what) {
  if (why == std::errc::resource_unavailable_try_again) {
    say(
        fmt::format("cannot start a thread: {}; the limit of processes (`ulimit -u`) or of memory "
                    "is too low",
                    why.message()));
  } else if (why == std::errc::too_many_files_open) {
    say(fmt::format("cannot open a file: {}; the limit of open files (`ulimit -n`) is too low",
                    why.message()));
  } else {
    say(fmt::format("cannot go on: {}", what));
    return supervisor::kExitFailure;
  }
  return supervisor::kExitInfrastructure;
}

}  // namespace

int robustrun_main(const std::vector<std::string>& argv) {
  fill_standard_descriptors();
  base::raise_descriptor_limit();
  // Without threads or descriptors nothing can be done, and libraries report their lack by
  // exceptions alone.
  try {
    return with_output(dispatch(argv));
  } catch (const std::system_error& error) {
    return give_up(error.code(), error.what());
  } catch (const boost::system::system_error& error) {  // Asio's; it is no std::system_error
    return give_up(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    say("cannot go on: out of memory; the limit (`ulimit -v`) may be too low");
  }
  return supervisor::kExitInfrastructure;
}

}  // namespace robustrun::cli
