#pragma once
// Files that every node has a copy of before its workers start (--stage): each is read from where
// it lies by one node, block by block, and passed on between nodes (agent/staging/block_peers.h).
// And the code of the run, likewise (node_code.h).
//
// Owned by the Agent, on its loop. Begins as soon as the run is known here. The copies lie in the
// cache's store of blocks, and workers find them by links in a folder of the run's own.

#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "agent/staging/block_peers.h"
#include "base/core/result.h"

namespace robustrun::agent {

// Where workers find them: $ROBUSTRUN_STAGE_DIR.
[[nodiscard]] std::string stage_directory(const std::string& runtime_directory);

class StageFiles {
 public:
  StageFiles(NodeContext& node, BlockPeers& peers);
  ~StageFiles();
  StageFiles(const StageFiles&) = delete;
  StageFiles& operator=(const StageFiles&) = delete;

  // Calls `go` when all files are here, or one cannot be: at once where there are none. Only the
  // last `go` given is called.
  void begin_attempt(std::function<void(base::Status)> go);
  // The same for the code alone: first of all that an attempt waits for.
  void begin_code(std::function<void(base::Status)> go);
  // True when the message was for us.
  bool take(const wire::Message& message);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
