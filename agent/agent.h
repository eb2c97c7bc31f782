#pragma once
// `robustrun agent`: starts workers on this node when the supervisor orders it, and reports what
// becomes of them. All decisions are the supervisor's.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/output/own_console.h"
#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "wire/messages/enrolment.h"
#include "wire/messages/worker_template.h"
#include "wire/tls/credential.h"

namespace robustrun::agent {

// Serves the supervisor at the other end of `channel` until the supervisor dismisses the agent, the
// channel closes, or a signal ends the agent (departure.h). In each case everything that the agent
// started is killed. Returns the process's exit code, which is always 0.
int run_agent(base::Fd channel);

// Where the output of one worker goes.
struct OwnStreams {
  wire::StreamRoute out = wire::StreamRoute::kFileAndConsole;
  wire::StreamRoute err = wire::StreamRoute::kFileAndConsole;
};

// The settings of run_remote_agent().
struct RemoteAgent {
  wire::Credential credential;
  // What this agent reports about itself. An empty `host` is replaced by the machine's own name.
  wire::Enrol self;
  // End of file on standard input ends the agent, unless the supervisor has welcomed it already.
  bool watch_stdin = false;
  // The agent ends if it has not reached a supervisor after this time.
  base::Nanos first_contact_max = std::chrono::seconds(30);
  // Returns the endpoints where the supervisor listens now. Called before each further try to reach
  // the first supervisor. Without this function, or if it returns no endpoints, the known endpoints
  // are tried again. It may block, and a thread may still run it when run_remote_agent() has
  // returned.
  std::function<std::vector<std::string>()> look_up;
  // Called once if the first supervisor is not reached soon. May be empty.
  std::function<void(const std::string& why)> on_late;
  wire::MungeProofs munge;
  // Slurm started this agent. After the welcome, SIGTERM then means that Slurm will soon take the
  // node back: the supervisor is told, and the agent goes on.
  bool ends_with_node = false;
  // SIGTERM (but see `ends_with_node`), SIGINT and each of these signals make this node leave the
  // run: the supervisor stops all workers, and continues without this node if possible. If the
  // supervisor sends no stop order, the agent passes the signal to its workers, which then have
  // `shutdown_grace` to end. A second signal kills them at once.
  std::vector<int> end_signals;
  base::Nanos shutdown_grace = std::chrono::seconds(30);
  std::vector<int> forwarded_signals;  // passed on to this node's workers (SIGUSR1, SIGUSR2)
  // NAME=VALUE: variables particular to this node (from Slurm: the task, the GPUs). They replace
  // the supervisor's variables of the same names.
  std::vector<std::string> node_environment;
  // Set if this agent is a user's `robustrun` command that joins a run which another machine leads:
  // the command's own template of workers, used in place of the supervisor's.
  std::optional<wire::WorkerTemplate> own_workers;
  // Streams of own_workers by local rank, from this command's options.
  std::vector<OwnStreams> own_streams;
  // Opens the console that shows the output of own_workers on this machine. Empty: the supervisor's
  // console shows it.
  OwnConsole::Open open_console;
};

// Connects to the supervisor over the network and serves it. Reconnects after a broken connection
// (supervisor_link.h). Returns the process's exit code.
//
// If signal n made the node leave, the code is 128 + n, or 1 for a user's command (own_workers) in
// compat mode. Otherwise, if the supervisor dismissed the agent, it is the run's exit code. In all
// other cases one line on stderr gives the cause, and the code is 1; but it is 94 for a user's
// command in native mode that lost its supervisor or never reached it.
int run_remote_agent(RemoteAgent start);

}  // namespace robustrun::agent
