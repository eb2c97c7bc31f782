#pragma once
// In a line of a worker's source, finds the call that may wait for a peer: "dist.recv(x, src=1)",
// "request.wait()". Stack dumps do not show it: the called function may be C++, and there are no
// arguments.
//
// Reads the file that the stack frame names, as the worker sees it. Blocks: for the pool. The
// worker is not trusted: only a regular file of bounded size is read, and only the call is kept,
// without text in quotes.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

// The call in `line`; empty: none. Beyond kCallBytesMax, or with text in quotes, the arguments are
// replaced by "...". Pure.
[[nodiscard]] std::string call_in(std::string_view line);

// Sets Frame::call of the innermost frame that is not in torch.distributed itself.
void add_call(pid_t pid, tracer::ThreadStack& stack);

}  // namespace robustrun::agent
