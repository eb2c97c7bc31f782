#pragma once
// `robustrun agent`: turns start orders into running workers on this node and tells the truth
// about them. Never decides: policy is the supervisor's.

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

// Serves the supervisor at the other end of `channel` until it dismisses us or the channel closes
// (then everything that was started is killed). Returns the process's exit code.
int run_agent(base::Fd channel);

// Where the output of one worker goes.
struct OwnStreams {
  wire::StreamRoute out = wire::StreamRoute::kFileAndConsole;
  wire::StreamRoute err = wire::StreamRoute::kFileAndConsole;
};

struct RemoteAgent {
  wire::Credential credential;
  wire::Enrol self;            // what we say of ourselves (wire/link/dialer.h)
  bool watch_stdin = false;    // its end before the welcome ends us
  base::Nanos first_contact_max = std::chrono::seconds(30);   // nobody answers for so long
  wire::MungeProofs munge;
  // Slurm started us. SIGTERM then means that it takes the node back soon: the supervisor is told,
  // and we go on.
  bool ends_with_node = false;
  // Each of these tells us to leave: the workers get it, too, and `shutdown_grace`, and the run
  // goes on without this node. A second one kills them at once.
  std::vector<int> end_signals;
  base::Nanos shutdown_grace = std::chrono::seconds(30);
  std::vector<int>
      forwarded_signals;  // each is passed on to this node's workers (SIGUSR1, SIGUSR2)
  // NAME=VALUE: what is particular to this node, in place of the supervisor's variables of those
  // names (where Slurm says which task, which GPUs).
  std::vector<std::string> node_environment;
  // What we start, whatever the supervisor says: of a machine that joined by itself, whose user
  // gave the command here.
  std::optional<wire::WorkerTemplate> own_workers;
  // Of own_workers, by local rank: the options of the command here decide, and only it knows how
  // many there are. As many as there are workers.
  std::vector<OwnStreams> own_streams;
  // With own_workers: where their output is shown. Empty: on the supervisor's console.
  OwnConsole::Open open_console;
};

// Calls the supervisor over the network and serves it as above. A broken connection is made again
// (home_link.h). One line on stderr says why when the run never began here. Returns the run's exit
// code once dismissed; 128 + n when signal n told us to leave (1 where the workers are started as
// torchrun does); else 1.
int run_remote_agent(RemoteAgent start);

// Reads the line that a launcher writes to our standard input; waits at most kCredentialMax.
base::Result<wire::Credential> read_credential();

}  // namespace robustrun::agent
