#pragma once
// The driver of the core: sockets, timers and signals become events; the core's actions become
// messages, timers and lines for the user.
//
// One per run, on one io_context and its thread. Every event is appended to the journal, then given
// to the core. The core's actions are carried out in order before the next event is taken. Only the
// core decides what to do about a failure.

#include <boost/asio/any_io_executor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "launcher/agent_launcher.h"
#include "launcher/slurm/node_states.h"
#include "launcher/slurm/notice.h"
#include "launcher/slurm/replacement.h"
#include "supervisor/console/console.h"
#include "supervisor/console/console_log.h"
#include "supervisor/core/status/fold.h"
#include "supervisor/core/status/save_times.h"
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
    // Each of the following functions answers once, from the loop.
    // Looks up the numeric addresses of a host; an unknown host has none. Null: the request names
    // no hosts.
    std::function<void(const std::string& name, std::function<void(std::vector<std::string>)>)>
        look_up{};
    // Asks Slurm why it signals the job; null without Slurm.
    std::function<void(std::function<void(launcher::SlurmNotice)>)> ask_slurm{};
    // Asks Slurm what it plans for the run's nodes, by their names; null without Slurm.
    std::function<void(std::function<void(base::Result<std::vector<launcher::SlurmNodeState>>)>)>
        ask_node_states{};
    // Asks the scheduler for the job's end by its time limit, as Unix time (JobEnd); null without a
    // scheduler.
    std::function<void(std::function<void(base::Result<std::optional<base::Nanos>>)>)>
        ask_job_end{};
    // Reads how long saves took in the starts of the job before this one; null: no earlier start is
    // known.
    std::function<void(std::function<void(SaveTimes)>)> read_earlier_saves{};
    // Computes a placement; null without a topology.
    std::function<void(SolvePlacement, std::function<void(PlacementSolved)>)> place{};
    // Finds the rank that blocks the others (tracer/analysis).
    std::function<void(tracer::FleetSnapshot, tracer::RasEvidence,
                       std::function<void(tracer::Verdict)>)>
        analyze{};
    // Finds ranks that called different collectives before one of them failed.
    std::function<void(tracer::FleetSnapshot, std::function<void(tracer::Verdict)>)>
        analyze_failed{};
    // Computes which node keeps whose copies in memory; null: no copies are kept.
    std::function<void(SolveBackup, std::function<void(BackupSolved)>)> keep_copies{};
    // Reads a block of the code's pack (code_pack_file).
    std::function<void(std::uint64_t block, std::function<void(base::Result<std::string>)>)>
        read_code{};
    // Queues and cancels Slurm jobs that bring nodes in place of lost ones (Replacements); null
    // without Slurm.
    std::function<void(launcher::ReplacementOrder,
                       std::function<void(launcher::ReplacementAnswer)>)>
        order_replacements{};
  };
  // `request`, and the clock and the launcher of `parts`, outlive the driver.
  Driver(Parts parts, const RunRequest& request, std::function<void(int exit_code)> on_finished);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Opens the listener for agents that connect over the network, if the request has such agents.
  // Must be called first. `before`: the authority of the supervisor that this one takes over from.
  base::Status open_listener(const RunAuthority* before = nullptr);
  // What a supervisor needs to take the run over from this one; nullopt without a listener.
  [[nodiscard]] std::optional<RunAuthority> authority() const;
  // The next three are called before start() or resume().
  // Records everything in `journal`.
  void record_to(Journal journal);
  // Standard output and error lead to `log` (ConsoleLog::open), which the driver rotates. It
  // outlives the driver.
  void log_console_to(ConsoleLog& log);
  // Publishes the journal's entries and the run's status; `outlets` outlives the driver.
  void publish_to(Outlets& outlets);
  // Entries that the journal did not take (run_record.h).
  [[nodiscard]] const std::deque<JournalEntry>& lost_entries() const;
  // Records RunStarted and launches the agents. `on_finished` is called once, from the loop, when
  // the run is over, and the agents and the output have ended or are given up.
  void start();
  // Instead of start(): continues where the journal of another supervisor ends. Records the entries
  // that are missing there, and SupervisorResumed. `on_finished` is called as after start().
  void resume(Folded folded);
  // The run has another supervisor. It goes on there, and its files are no longer ours.
  [[nodiscard]] bool has_stepped_down() const;
  // This process got a signal. `forward_only`: the signal is sent to the workers; otherwise it ends
  // the run.
  void signal_received(int signal, bool forward_only);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace robustrun::supervisor
