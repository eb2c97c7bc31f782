#pragma once
// Provides what workers of an attempt need on this node before they start, in this order: their
// code, the image with their environment, the dependencies, the profile of the files that they read
// at their start, and staged files. At the end it decides about NCCL's slot for a profiler plugin
// (profiler_slot.h).
//
// Owned by the WorkerSet, on the agent's loop. Most steps begin as soon as the run is known here;
// an attempt waits for the rest.

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

  // `peers`: for blocks of the image. `end_workers`: kills the workers; called if they run another
  // image than the ordered one.
  Preparation(NodeContext& node, BlockPeers& peers, StageFiles& staged,
              std::function<void()> end_workers);
  ~Preparation() { keep_image(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // Sets NodeContext::workers, the template with which the attempt's workers start here, and calls
  // `go`, perhaps at once. After an error, whose text is a sentence for the user, no worker can
  // start. `is_wanted` returns false once the attempt is no longer to begin; `go` is then not
  // called.
  void begin_attempt(const wire::StartWorkers& order, std::function<bool()> is_wanted, Go go);
  // For standby workers on a node without workers: calls `go` when the modules that they import are
  // here. A begin_attempt() before that usually replaces this call. But `go` may still be called,
  // so it must check whether standbys are still wanted.
  void begin_standbys(Go go);

  [[nodiscard]] HotFiles& hot_files() { return hot_files_; }
  [[nodiscard]] NodeImage& image() { return image_; }
  // To be called when no worker of the attempt is left.
  void end_attempt() { hot_files_.end_attempt(); }
  // To be called when no attempt follows. Calls `done` when the image is not in use here any more.
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
