#pragma once
// What every part of the agent shares: loop, pool, the way to the supervisor, and this node's
// template for workers. Owned by the Agent, outlives all workers; used on the loop alone.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <optional>
#include <string>

#include "agent/node/stage_clock.h"
#include "agent/node/worker_home.h"
#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/io/blocking_pool.h"
#include "bootstrap/deps/build.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

// Dependencies that lie on this node for its workers (node_snapshot.h).
struct SnapshotView {
  std::string tree;  // absolute
  bootstrap::TreeFacts facts;
  std::string minor;  // of the interpreter that they are for: 3.11
};

struct NodeContext {
  boost::asio::any_io_executor executor;
  const base::Clock& clock;
  base::BlockingPool& pool;
  std::function<void(const wire::Message&)> send;
  std::string shim;               // absolute path of robustrun-shim
  std::string runtime_directory;  // records and sockets of this run, 0700, on this node
  wire::WorkerTemplate workers;   // of the attempt that runs, or ran last
  wire::WorkerTemplate started_with{};   // what the run was started with
  bool own_command = false;       // this agent starts its own alone
  std::string executable{};   // absolute path of robustrun
  base::NodeId self{};        // as the supervisor calls this node
  unsigned slow_looks = 0;    // of evidence_collector.h, on the pool
  WorkerHome home{};          // where workers are started, once the image is there
  std::optional<SnapshotView> snapshot{};  // none: nothing is asked for, or it is not there yet
  StageClock stages{clock};   // of the start that goes on
};

}  // namespace robustrun::agent
