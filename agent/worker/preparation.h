#pragma once
// What must be on this node, or known here, before workers of an attempt start, in this order:
// their code, the image with their environment, the dependencies, the profile of the files they
// read first, staged files, and, if their environment names a profiler plugin for NCCL, whether our
// plugin can take its slot and call it (profiler_slot.h).
//
// Owned by the WorkerSet, on the agent's loop. Most of it begins as soon as the run is known here;
// an attempt waits for what is missing.

#include <functional>
#include <memory>

#include "agent/deps/node_snapshot.h"
#include "agent/image/block_server_link.h"
#include "agent/image/node_image.h"
#include "agent/node/node_context.h"
#include "agent/spawn/profiler_slot.h"
#include "agent/staging/block_peers.h"
#include "agent/staging/hot_files.h"
#include "agent/staging/stage_files.h"
#include "base/core/result.h"
#include "wire/messages/orders.h"

namespace robustrun::agent {

class Preparation {
 public:
  using Go = std::function<void(base::Status)>;

  // `peers`: for blocks of the image. `end_workers`: ends workers that run another image than asked
  // for.
  Preparation(NodeContext& node, BlockPeers& peers, StageFiles& staged,
              std::function<void()> end_workers);
  ~Preparation() { keep_image(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // Sets NodeContext::workers (a wire::WorkerTemplate: what workers of the attempt are started with
  // here) and calls `go`, perhaps at once. An error is a sentence for the user: no worker can
  // start. `is_wanted`: false once the attempt is no longer to begin; `go` is not called then.
  void begin_attempt(const wire::StartWorkers& order, std::function<bool()> is_wanted, Go go);
  // For standby workers on a node without workers: calls `go` when what they import is there. A
  // begin_attempt() in between usually takes the place of this call. `go` may still be called, and
  // must check whether standbys are still wanted.
  void begin_standbys(Go go);

  [[nodiscard]] HotFiles& hot_files() { return hot_files_; }
  [[nodiscard]] NodeImage& image() { return image_; }
  // No worker of the attempt is left.
  void end_attempt() { hot_files_.end_attempt(); }
  // No attempt follows. `done` is called when nothing of this is in use here.
  void end(std::function<void()> done);

 private:
  struct Attempt;
  void share_image(const std::string& socket);
  void link_image(const std::string& socket);
  void keep_image();
  void after_image(const std::shared_ptr<Attempt>& attempt);
  void after_snapshot(const std::shared_ptr<Attempt>& attempt);

  NodeContext& node_;
  BlockPeers& peers_;
  std::shared_ptr<BlockServerLink> link_;  // to the image's server, while its blocks are shared
  NodeSnapshot snapshot_;
  HotFiles hot_files_;
  NodeImage image_;
  StageFiles& staged_;
  ProfilerSlot profiler_;
};

}  // namespace robustrun::agent
