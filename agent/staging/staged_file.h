#pragma once
// One file that is brought to this node: into the store of blocks, from there, from peers, from the
// file itself where this node can read it, or from a node that can; or from an origin of its own.
//
// Owned by StageFiles, on the agent's loop. Which blob the file is, is asked for in the same way:
// the first in the tree of its name reads it, the others hear it from those before them.

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

struct StageHands {
  NodeContext& node;
  BlockAsker& asker;
  base::BlockingPool& origin;  // reads the files themselves
  base::BlockingPool& store;
};

// Where blocks come from that no peer has, in place of a file that nodes can read.
struct StagedOrigin {
  bootstrap::Blob blob;
  // Answers once, on the loop.
  std::function<void(std::uint64_t block, std::function<void(base::Result<SharedBlock>)>)> read;
};

struct StagedFrom {  // blocks of a file
  std::uint64_t store = 0;
  std::uint64_t peers = 0;
  std::uint64_t file = 0;
};

class StagedFile : public BlockSource {
 public:
  using Done = std::function<void(base::Status)>;

  static std::shared_ptr<StagedFile> make(StageHands hands, std::string path);
  // `name`: what peers and people call it.
  static std::shared_ptr<StagedFile> make(StageHands hands, std::string name, StagedOrigin origin);

  // Once, or again after it failed. `done`: all of it is in the store, checked, or never will be.
  virtual void begin(Done done) = 0;
  // Where all of it is then.
  [[nodiscard]] virtual std::string data_path() const = 0;
  [[nodiscard]] virtual StagedFrom from() const = 0;
  [[nodiscard]] virtual const std::string& path() const = 0;
  // The last call: nobody is answered any more.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
