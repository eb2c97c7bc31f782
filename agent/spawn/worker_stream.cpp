#include "agent/spawn/worker_stream.h"

#include <unistd.h>

#include <utility>

#include "agent/node/limits.h"
#include "agent/output/limits.h"
#include "agent/spawn/worker_words.h"
#include "base/io/log.h"

namespace robustrun::agent {
namespace {

bool to_file(wire::StreamRoute route) {
  return route == wire::StreamRoute::kFile || route == wire::StreamRoute::kFileAndConsole;
}

LogPump::Handlers stream_handlers(NodeContext& node, WorkerStreamPlan& plan, bool to_console) {
  LogPump::Handlers handlers;
  const base::Rank rank = plan.slot.rank;
  if (to_console) {
    handlers.on_console = [&node, rank, local_rank = plan.slot.local_rank,
                           is_stderr = plan.is_stderr](std::string_view bytes, bool partial) {
      node.send(wire::Output{rank, local_rank, is_stderr, partial, std::string(bytes)});
    };
  }
  handlers.on_trouble = [rank](const std::string& what) {
    RR_LOG(kWarn, ({.rank = rank}), "{}", what);
  };
  handlers.on_bytes = std::move(plan.on_bytes);
  handlers.on_finished = std::move(plan.on_finished);
  return handlers;
}

}  // namespace

bool is_captured(wire::StreamRoute route) {
  return route == wire::StreamRoute::kConsole || to_file(route);
}

base::Result<WorkerStream> open_worker_stream(NodeContext& node, WorkerStreamPlan plan) {
  const wire::StreamRoute route = plan.is_stderr ? plan.slot.err : plan.slot.out;
  WorkerStream stream;
  if (route == wire::StreamRoute::kInherit) {
    stream.fd = plan.is_stderr ? STDERR_FILENO : STDOUT_FILENO;
    return stream;
  }
  if (!is_captured(route)) return stream;
  if (!plan.source) {
    base::FdPair pipe = RR_TRY(base::make_pipe());
    plan.source = std::move(pipe.first);
    stream.write_end = std::move(pipe.second);
    stream.fd = stream.write_end.get();
  }
  LogPumpOptions options;
  options.source = std::move(plan.source);
  if (to_file(route)) options.file = plan.is_stderr ? plan.paths.stderr_log : plan.paths.stdout_log;
  // Without a log folder (make_paths()) its output would be nowhere.
  options.to_console = route != wire::StreamRoute::kFile || options.file.empty();
  options.tail_lines = plan.is_stderr ? kStderrTailLines : 0;
  options.filters = plan.is_stderr ? node.workers.stderr_filters : node.workers.stdout_filters;
  if (!options.filters.empty()) {
    options.filter_file =
        plan.is_stderr ? plan.attempt_paths.filtered_stderr : plan.attempt_paths.filtered_stdout;
    options.filter_prefix = line_prefix(node.workers, plan.slot, node.host);
  }
  const bool to_console = options.to_console;
  stream.pump = RR_TRY(LogPump::open(node.executor, node.pool, std::move(options),
                                     stream_handlers(node, plan, to_console)));
  return stream;
}

}  // namespace robustrun::agent
