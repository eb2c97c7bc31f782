#pragma once
// One file that is brought to this node's block store: from the store itself, from peers, from the
// file where this node can read it, or else from a node that can; or from an origin of its own.
//
// Owned by StageFiles, on the agent's loop. The identity of the file's blob spreads in the same
// way: the first node in the tree of the file's name reads the file, the others learn it from the
// nodes before them.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "agent/staging/block.h"
#include "agent/staging/block_asker.h"
#include "base/core/result.h"
#include "base/io/blocking_pool.h"
#include "bootstrap/store/blob.h"

namespace robustrun::agent {

struct StageContext {
  NodeContext& node;
  BlockAsker& asker;
  base::BlockingPool& origin;  // reads the files themselves
  base::BlockingPool& store;
};

// An origin for the blocks that no peer has, in place of a file that nodes can read.
struct StagedOrigin {
  bootstrap::Blob blob;
  // Calls its argument once, on the loop.
  std::function<void(std::uint64_t block, std::function<void(base::Result<SharedBlock>)>)> read;
};

struct StagedFrom {  // numbers of blocks, by where they came from
  std::uint64_t store = 0;
  std::uint64_t peers = 0;
  std::uint64_t file = 0;
};

class StagedFile : public BlockSource {
 public:
  using Done = std::function<void(base::Status)>;

  static std::shared_ptr<StagedFile> make(StageContext context, std::string path);
  // `name`: for peers and for log lines.
  static std::shared_ptr<StagedFile> make(StageContext context, std::string name,
                                          StagedOrigin origin);

  // Call once, and again after a failure. `done`: all of the file is in the store and checked, or
  // will never be.
  virtual void begin(Done done) = 0;
  // Path of the file in the store, complete once `done` was called without an error.
  [[nodiscard]] virtual std::string data_path() const = 0;
  [[nodiscard]] virtual StagedFrom from() const = 0;
  [[nodiscard]] virtual const std::string& path() const = 0;
  // The last call: nothing is answered any more.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
