#pragma once
// Copies files to every node before its workers start (--stage). Each block of a file is read from
// the file's own place by one node, and the nodes pass it on (agent/staging/block_peers.h). Also
// brings the run's code (node_code.h).
//
// Owned by the NodeAgent, on its loop, and made as soon as the run is known here. The constructor
// begins to copy. The copies lie in the cache's block store; workers find them through links in a
// folder of the run.

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

  // Calls `go` when all files are here, or with the first error when no file is under way any more;
  // at once if there are no files. A later call replaces `go`. After an error the next call tries
  // again.
  void begin_attempt(std::function<void(base::Status)> go);
  // The same for the code alone, for which an attempt waits first (NodeCode::begin_attempt()).
  void begin_code(std::function<void(base::Status)> go);
  // True: `message` was handled here.
  bool take(const wire::Message& message);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
