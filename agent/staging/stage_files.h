#pragma once
// Files that every node gets a copy of before its workers start (--stage). One node reads each file
// from its origin, block by block, and the nodes pass the blocks on (agent/staging/block_peers.h).
// The code of the run is brought in the same way (node_code.h).
//
// Owned by the NodeAgent, on its loop. Begins as soon as the run is known here. The copies lie in
// the cache's block store; workers find them through links in a folder of the run.

#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "agent/staging/block_peers.h"
#include "base/core/result.h"

namespace robustrun::agent {

// The folder of links: $ROBUSTRUN_STAGE_DIR.
[[nodiscard]] std::string stage_directory(const std::string& runtime_directory);

class StageFiles {
 public:
  StageFiles(NodeContext& node, BlockPeers& peers);
  ~StageFiles();
  StageFiles(const StageFiles&) = delete;
  StageFiles& operator=(const StageFiles&) = delete;

  // Calls `go` when all files are here, or one is not available; at once if there are none. A later
  // call replaces `go`.
  void begin_attempt(std::function<void(base::Status)> go);
  // The same only for the code, which an attempt waits for first.
  void begin_code(std::function<void(base::Status)> go);
  // True: `message` was handled here.
  bool take(const wire::Message& message);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
