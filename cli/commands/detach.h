#pragma once
// --detach: a run that continues after its command has returned.
//
// The supervisor is a process in a session of its own: `robustrun detached run ARGS…` or `…
// detached resume RUN`. Until the run begins, the supervisor writes to our descriptors 1 and 2; on
// descriptor 3, a socket, it announces the run's directory. This command shows the run's console
// until all workers run.

#include <span>
#include <string>

#include "cli/options/surroundings.h"

namespace robustrun::cli {

// The hidden subcommand; taken only with a socket as descriptor 3.
inline constexpr const char* kDetachedWord = "detached";

// `subcommand`: "run" or "resume"; `argv`: its arguments. Prints the run's name on standard output
// and returns 0 once all workers run, or if the run has begun but its supervisor cannot be reached,
// or if the run ended with 0 meanwhile. Otherwise prints no name, and returns the exit code of the
// run, or of the failure to start it. All other output goes to standard error; `quiet`: without
// information lines. A signal meanwhile (Ctrl-C) ends the run.
int start_detached(const std::string& subcommand, std::span<const std::string> argv,
                   const Surroundings& around, bool quiet = false);

}  // namespace robustrun::cli
