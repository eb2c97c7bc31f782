#pragma once
// A run that goes on without the command that started it (--detach).
//
// The supervisor is a process of its own, in a session of its own: `robustrun detached run ARGS…`
// or `… detached resume RUN`, with our descriptors 1 and 2 until the run begins, and a socket as
// descriptor 3, on which it names its run's directory. We show what it does until all workers run.

#include <span>
#include <string>

#include "cli/options/surroundings.h"

namespace robustrun::cli {

// The hidden subcommand; only with a socket as descriptor 3.
inline constexpr const char* kDetachedWord = "detached";

// `subcommand`: "run" or "resume"; `argv` as for its command. Exit code 0 once the run is up, its
// name on standard output; else that of the run, or of why it did not begin. Everything else is on
// standard error. A signal meanwhile (Ctrl-C) ends the run.
int start_detached(const std::string& subcommand, std::span<const std::string> argv,
                   const Surroundings& around);

}  // namespace robustrun::cli
