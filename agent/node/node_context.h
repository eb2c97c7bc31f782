#pragma once
// The data that all parts of the agent share: loop, pool, connection to the supervisor, template of
// this node's workers, and more. Owned by the NodeAgent, outlives all workers, used only on the
// loop.

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
  std::string minor;  // version of the interpreter: 3.11
};

class Processes;  // process/processes.h

struct NodeContext {
  boost::asio::any_io_executor executor;
  const base::Clock& clock;
  base::BlockingPool& pool;
  std::function<void(const wire::Message&)> send;
  std::string shim;  // absolute path of robustrun-shim
  std::string runtime_directory;  // of records and sockets of this run on this node (runtime_dir.h)
  wire::WorkerTemplate workers;  // template of the current attempt, or of the last one
  wire::WorkerTemplate started_with{};  // template for new attempts, adapted to image and store
  bool own_command = false;  // this agent is a user's command and starts only its own workers
  bool has_input = true;  // our standard input is the user's, not a launcher's pipe or connection
  std::string executable{};  // absolute path of robustrun
  base::NodeId self{};  // the id that the supervisor gave this node
  unsigned slow_looks = 0;  // looks of evidence_collector.h that the pool runs or has queued
  WorkerHome home{};  // where workers are started, once the image is ready
  std::optional<SnapshotView> snapshot{};  // none: not asked for, or not ready yet
  StageClock stages{clock};  // stages of the current start
  std::string host{};  // this machine's own name
  // Closes the agent's store, so that its port is free and rank 0's worker can serve torch's store.
  std::function<void()> leave_store{};
  ProfilerShare profiler{};  // of the current attempt's workers
  Processes* processes = nullptr;  // null: workers are started below shims
  std::set<std::string> line_formats{};  // projects whose log lines were recognised on this node
};

}  // namespace robustrun::agent
