#pragma once
// Brings one file into this node's block store. Each block is taken from the first of these that
// has it: the store, peers, the file itself, or, if this node cannot read the file, a node that
// can. A StagedOrigin takes the place of the file.
//
// Owned by StageFiles, on the agent's loop. Without a StagedOrigin the nodes first learn which blob
// the file is. For this they form a tree, ordered by a hash of the file's name
// (bootstrap/store/block_tree.h): the first node reads the file, and the others learn the blob
// from nodes before them.

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
