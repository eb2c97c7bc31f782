#pragma once
// The call in a line of a worker's source that may wait for a peer: "dist.recv(x, src=1)",
// "request.wait()". Frames do not have it: what they call may be C++, and their arguments are not
// in a stack dump.
//
// Reads the file that the frame names, as the worker sees it; for the pool, as a file system may
// hang. The worker is never trusted: only a regular file of bounded size is read, and of its line
// nothing is kept but such a call, without any text in quotes.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

// Pure; empty: the line has no such call. At most kCallBytesMax.
[[nodiscard]] std::string call_in(std::string_view line);

// Fills in Frame::call of the innermost frame outside torch's own calls.
void add_call(pid_t pid, tracer::ThreadStack& stack);

}  // namespace robustrun::agent
