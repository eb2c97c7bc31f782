#pragma once
// What all parts of the agent share: loop, pool, the way to the supervisor, and this node's
// template for workers. Owned by the NodeAgent, outlives all workers; used on the loop alone.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "agent/node/profiler_share.h"
#include "agent/node/stage_clock.h"
#include "agent/node/worker_home.h"
#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/io/blocking_pool.h"
#include "bootstrap/deps/build.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

// The installed dependencies on this node that workers see (deps/node_snapshot.h).
struct SnapshotView {
  std::string tree;  // absolute
  bootstrap::TreeFacts facts;
  std::string minor;  // version of their interpreter: 3.11
};

class Processes;  // process/processes.h

struct NodeContext {
  boost::asio::any_io_executor executor;
  const base::Clock& clock;
  base::BlockingPool& pool;
  std::function<void(const wire::Message&)> send;
  std::string shim;               // absolute path of robustrun-shim
  std::string runtime_directory;  // records and sockets of this run, 0700, on this node
  wire::WorkerTemplate workers;   // of the current attempt, or the last one
  wire::WorkerTemplate started_with{};   // what the run was started with
  bool own_command = false;       // this agent starts its own command only
  std::string executable{};   // absolute path of robustrun
  base::NodeId self{};        // as the supervisor calls this node
  unsigned slow_looks = 0;    // looks of evidence_collector.h that now occupy the pool
  WorkerHome home{};          // where workers are started, once the image is ready
  std::optional<SnapshotView> snapshot{};  // none: not asked for, or not ready yet
  StageClock stages{clock};   // of the current start
  std::string host{};         // this machine's own name
  // From now on rank 0's worker serves torch's store, at a port that is free when this returns.
  std::function<void()> leave_store{};
  ProfilerShare profiler{};   // of the current attempt's workers
  Processes* processes = nullptr;  // null: workers are started below shims
  std::set<std::string> line_formats{};  // projects whose log lines were recognised here
};

}  // namespace robustrun::agent
