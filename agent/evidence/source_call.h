#pragma once
// Finds the call in a line of a worker's source that may wait for a peer: "dist.recv(x, src=1)",
// "request.wait()". Stack frames lack it: what they call may be C++, and a stack dump has no
// arguments.
//
// Reads the file that the frame names, as the worker sees it; for the pool, as a file system may
// hang. The worker is never trusted: only a regular file of bounded size is read, and only such a
// call is kept of the line, without any text in quotes.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

// The call in `line`; empty: none. At most kCallBytesMax. Pure.
[[nodiscard]] std::string call_in(std::string_view line);

// Fills in Frame::call of the innermost frame outside torch's own calls.
void add_call(pid_t pid, tracer::ThreadStack& stack);

}  // namespace robustrun::agent
