#pragma once
// `robustrun agent`: turns start orders into running workers on this node and reports what becomes
// of them. It never decides: policy is the supervisor's.

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

// Serves the supervisor at the other end of `channel` until it dismisses us, the channel closes, or
// a signal ends us (departure.h). In each case everything that was started here is killed. Returns
// 0, the process's exit code.
int run_agent(base::Fd channel);

// Where the output of one worker goes.
struct OwnStreams {
  wire::StreamRoute out = wire::StreamRoute::kFileAndConsole;
  wire::StreamRoute err = wire::StreamRoute::kFileAndConsole;
};

struct RemoteAgent {
  wire::Credential credential;
  // What this agent reports about itself (wire/link/dialer.h); without a `host`: the machine's own.
  wire::Enrol self;
  bool watch_stdin = false;  // until the welcome, end of file on standard input ends the agent
  base::Nanos first_contact_max = std::chrono::seconds(30);  // to reach a supervisor at all
  // Returns where the supervisor listens now (supervisor_link.h). It may block, and a thread may
  // still run it when run_remote_agent() has returned.
  std::function<std::vector<std::string>()> look_up;
  std::function<void(const std::string& why)> on_late;  // as in SupervisorLink::Network
  wire::MungeProofs munge;
  // Slurm started this agent. After the welcome, SIGTERM then means that Slurm will soon take the
  // node back: the supervisor is told, and the agent goes on.
  bool ends_with_node = false;
  // SIGTERM (but see `ends_with_node`), SIGINT and each of these signals make this node leave the
  // run: the supervisor stops all workers, and goes on without this node if it can. If it sends no
  // stop order, the workers here get the signal and then have `shutdown_grace` to end. A second
  // signal kills them at once.
  std::vector<int> end_signals;
  base::Nanos shutdown_grace = std::chrono::seconds(30);
  std::vector<int> forwarded_signals;  // passed on to this node's workers (SIGUSR1, SIGUSR2)
  // NAME=VALUE: variables particular to this node (from Slurm: the task, the GPUs). They replace
  // the supervisor's variables of the same names.
  std::vector<std::string> node_environment;
  // Of a user's command that joined the run from this machine: the template of the workers that it
  // asked for. It is used in place of the supervisor's.
  std::optional<wire::WorkerTemplate> own_workers;
  // Streams of own_workers, one entry for each local rank. They follow from this command's options,
  // which the supervisor does not know.
  std::vector<OwnStreams> own_streams;
  // Shows the output of own_workers here; empty: the supervisor's console shows it.
  OwnConsole::Open open_console;
};

// Connects to the supervisor over the network and serves it as above. Reconnects after a broken
// connection (supervisor_link.h). If signal n made the node leave, returns 128 + n, or 1 in compat
// mode. Otherwise, if the supervisor dismissed the agent, returns the run's exit code. In all other
// cases one line on stderr gives the cause, and the result is 1; but in native mode it is 94 for a
// user's command (own_workers) that lost its supervisor or never reached it.
int run_remote_agent(RemoteAgent start);

}  // namespace robustrun::agent
