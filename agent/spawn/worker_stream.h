#pragma once
// Opens one stream of one worker: its pump, if the agent captures the stream, and the descriptor
// for the worker's process. Used on the agent's loop.

#include <functional>
#include <memory>
#include <string_view>

#include "agent/node/node_context.h"
#include "agent/output/log_pump.h"
#include "agent/spawn/attempt_dirs.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

bool is_captured(wire::StreamRoute route);

struct WorkerStreamPlan {
  const wire::WorkerSlot& slot;
  const AttemptPaths& attempt_paths;
  const WorkerPaths& paths;
  bool is_stderr = false;
  std::function<void()> on_finished;  // as in LogPump; called only if the stream is captured
  base::Fd source{};  // read end of an existing pipe; invalid: a pipe is made
  std::function<void(std::string_view)> on_bytes{};  // as in LogPump
};

struct WorkerStream {
  std::unique_ptr<LogPump> pump;  // null: not captured
  base::Fd write_end;             // to be closed after the start; invalid: none
  int fd = -1;                    // descriptor for ShimOptions
};

// `node` outlives the pump.
base::Result<WorkerStream> open_worker_stream(NodeContext& node, WorkerStreamPlan plan);

}  // namespace robustrun::agent
