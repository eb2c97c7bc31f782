#pragma once
// The shell around the core: sockets, timers and signals become events; the core's actions
// become messages, timers and lines for the user.
//
// One per run, on one io_context and its thread. Every event is appended to the journal, then
// given to the core; actions are carried out in order before the next event is taken. Nothing
// here decides: what to do about a failure is supervisor/core's.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "launcher/agent_launcher.h"
#include "launcher/slurm/notice.h"
#include "supervisor/console/console.h"
#include "supervisor/console/console_log.h"
#include "supervisor/core/status/fold.h"
#include "supervisor/run_dir/journal.h"
#include "supervisor/run_dir/run_authority.h"
#include "supervisor/run_request.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/analysis/verdict.h"
#include "tracer/ras_merge.h"

namespace robustrun::supervisor {

class Outlets;

class Driver {
 public:
  struct Parts {
    boost::asio::any_io_executor executor;
    const base::Clock& clock;
    launcher::AgentLauncher& launcher;
    int out_fd = 1;
    int err_fd = 2;
    // Asks Slurm why it signals the job; null where there is none. Answers once, from the loop.
    std::function<void(std::function<void(launcher::SlurmNotice)>)> ask_slurm{};
    // Works out who gets which place; null where no topology is known. Answers once, from the loop.
    std::function<void(SolvePlacement, std::function<void(PlacementSolved)>)> place{};
    // Works out whom the workers wait for (tracer/analysis). Answers once, from the loop.
    std::function<void(tracer::FleetSnapshot, tracer::RasEvidence,
                       std::function<void(tracer::Verdict)>)>
        analyze{};
    // Likewise, what they called differently before one of them failed.
    std::function<void(tracer::FleetSnapshot, std::function<void(tracer::Verdict)>)>
        analyze_failed{};
    // Works out who keeps whose copies in memory; null: nobody does. Answers once, from the loop.
    std::function<void(SolveBackup, std::function<void(BackupSolved)>)> keep_copies{};
    // Reads a block of the code's pack (code_pack_file). Answers once, from the loop.
    std::function<void(std::uint64_t block, std::function<void(base::Result<std::string>)>)>
        read_code{};
  };
  Driver(Parts parts, const RunRequest& request, std::function<void(int exit_code)> on_finished);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Opens the door for agents of other machines, when the request has any. First of all. `before`:
  // of the supervisor that we take over from.
  base::Status open_door(const RunAuthority* before = nullptr);
  // For whoever takes over from us; none without a door.
  [[nodiscard]] std::optional<RunAuthority> authority() const;
  // Where everything is recorded from now on. Before start().
  void record_to(Journal journal);
  // Standard output and error lead to `log`, which outlives the driver. Before start().
  void log_console_to(ConsoleLog& log);
  // Everything that is recorded, and how the run stands, is told there, too; `outlets` outlives the
  // driver. Before start().
  void publish_to(Outlets& outlets);
  // Records RunStarted and launches the agents. `on_finished` is called once, from the loop,
  // when the core has finished, the agents are gone and the console is written out.
  void start();
  // Instead of start(): goes on where the journal of another supervisor ends. Records what is
  // missing there and SupervisorResumed.
  void resume(Folded folded);
  void signal_received(int signal, bool forward_only);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::supervisor
