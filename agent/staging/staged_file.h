#pragma once
// Brings one file into this node's block store. Each block is taken from the first of these that
// has it: the store, peers, the file itself or, if this node cannot read the file, a node that can.
// A StagedOrigin takes the place of the file.
//
// Owned by StageFiles, NodeCode or SnapshotExchange, on the agent's loop. Without a StagedOrigin
// the nodes must first learn the file's blob, that is its key and length (bootstrap/store/blob.h).
// They form a tree by a hash of the file's name (bootstrap/store/block_tree.h): the first node
// reads the file, and the others learn the blob from nodes before them.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/node/node_context.h"
#include "agent/staging/block.h"
#include "agent/staging/block_asker.h"
#include "base/core/result.h"
#include "base/io/blocking_pool.h"
#include "base/io/timer.h"
#include "bootstrap/store/blob.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/staged_about.h"

namespace robustrun::agent {

// Used by all files of one owner.
struct StageContext {
  NodeContext& node;
  BlockAsker& asker;
  base::BlockingPool& origin;  // reads the files themselves
  base::BlockingPool& store;  // reads and writes the block store
};

// Gives the blocks that no peer has, in place of a file that nodes can read.
struct StagedOrigin {
  bootstrap::Blob blob;
  // Calls its second argument once, on the loop.
  std::function<void(std::uint64_t block, std::function<void(base::Result<SharedBlock>)>)> read;
};

struct StagedFrom {  // counts of blocks, by where they came from
  std::uint64_t store = 0;
  std::uint64_t peers = 0;
  std::uint64_t file = 0;  // read here, or from the StagedOrigin
};

class StagedFile : public BlockSource, public std::enable_shared_from_this<StagedFile> {
 public:
  using Done = std::function<void(base::Status)>;

  // With an `origin`, `path` is only a name for peers and for log lines.
  StagedFile(StageContext context, std::string path, std::optional<StagedOrigin> origin = {});

  // To be called once, and again after a failure. Calls `done` once: when the whole file is in the
  // store and checked, or with an error.
  void begin(Done done);
  // Path of the file in the store, complete once `done` was called without an error.
  [[nodiscard]] std::string data_path() const {
    return context_.node.workers.cache_directory + "/blocks/" + about_->blob.key + "/data";
  }
  [[nodiscard]] StagedFrom from() const { return from_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // The last call: nothing is answered any more.
  void abandon();
  bool get(const wire::BlockName& name, wire::BlockScope scope, BlockAnswered answer) override;

 private:
  enum class Stage : std::uint8_t { kMissing, kSought, kHere };
  struct Part {
    Stage stage = Stage::kMissing;
    bool is_stored = false;  // the store has it, but it was not read and checked yet
  };
  // These learn the blob, and a node that can read the file (`about_`).
  void describe();
  void describe_from_file(std::function<void()> otherwise);
  void describe_from_peers();
  bool take_description(const SharedBlock& block);
  void be_described(bootstrap::StagedAbout about);
  void get_description(wire::BlockScope scope, BlockAnswered answer);
  void open_store();
  // These bring the blocks.
  void go_on();
  void seek(std::uint64_t block);
  void seek_in_store(std::uint64_t block);
  void seek_at_peers(std::uint64_t block);
  void seek_at_origin(std::uint64_t block);
  void seek_at_reader(std::uint64_t block);
  void keep(std::uint64_t block, SharedBlock found, std::uint64_t StagedFrom::* from);
  void be_here(std::uint64_t block, const SharedBlock& found);
  void answer_waiting(std::uint64_t block, const SharedBlock& found);
  using Found = std::function<void(base::Result<SharedBlock>)>;
  void read_store(std::uint64_t block, Found found);
  void read_origin(std::uint64_t block, Found found);
  [[nodiscard]] bool is_block(std::uint64_t block, const SharedBlock& found) const {
    return found && found->bytes.size() == bootstrap::bytes_of_block(about_->blob.length, block);
  }
  [[nodiscard]] wire::BlockName block_name(std::uint64_t block) const {
    return {about_->blob.key, block};
  }
  void fail_with(const base::Error& error);
  void note_progress();
  // Runs `work` on a thread of `pool`, then calls `next` with its result if this object is still
  // alive.
  template <class T>
  void run(base::BlockingPool& pool, std::move_only_function<base::Result<T>()> work,
           std::move_only_function<void(base::Result<T>)> next);

  StageContext context_;
  std::string path_, name_;
  std::optional<StagedOrigin> origin_;  // none: the file is read
  std::optional<bootstrap::StagedAbout> about_;
  std::optional<base::Error> unreadable_;  // set: this node cannot read the file
  std::vector<BlockAnswered> waiting_for_about_;
  std::shared_ptr<bootstrap::BlockStore> store_;
  std::vector<Part> parts_;
  std::map<std::uint64_t, std::vector<BlockAnswered>> waiting_;
  std::uint64_t next_ = 0, here_ = 0, sought_ = 0;  // number of a block, and two counts
  StagedFrom from_;
  Done done_;
  // The pools are shared with other files, so each file begins with another lane.
  std::uint32_t next_lane_ = static_cast<std::uint32_t>(base::hash64(path_));
  base::Timer stall_;
};

}  // namespace robustrun::agent
