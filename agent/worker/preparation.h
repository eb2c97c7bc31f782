#pragma once
// What must be on this node before workers of an attempt start, one after the other: their code,
// the image with their environment, the dependencies, what they read first, staged files.
//
// Owned by the WorkerSet, on the agent's loop. All of it begins as soon as the run is known here;
// an attempt waits for what is not there yet.

#include <functional>
#include <memory>

#include "agent/deps/node_snapshot.h"
#include "agent/image/block_server_link.h"
#include "agent/image/node_image.h"
#include "agent/node/node_context.h"
#include "agent/staging/block_peers.h"
#include "agent/staging/hot_files.h"
#include "agent/staging/stage_files.h"
#include "base/core/result.h"
#include "wire/messages/orders.h"

namespace robustrun::agent {

class Preparation {
 public:
  using Go = std::function<void(base::Status)>;

  // `peers`: whom blocks of the image come from and go to. `end_workers`: those that run what
  // nobody asked for.
  Preparation(NodeContext& node, BlockPeers& peers, StageFiles& staged,
              std::function<void()> end_workers);
  ~Preparation() { keep_image(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // Sets NodeContext::workers to what workers of the attempt are started with here, and calls `go`.
  // An error is a sentence for the user: no worker can start. `is_wanted`: the attempt still
  // begins; what comes later is dropped.
  void begin_attempt(const wire::StartWorkers& order, std::function<bool()> is_wanted, Go go);
  // For standby workers of a node without workers: what they import is there. An order to start
  // takes this one's place.
  void begin_standbys(Go go);

  [[nodiscard]] HotFiles& hot_files() { return hot_files_; }
  [[nodiscard]] NodeImage& image() { return image_; }
  // No worker of the attempt is left.
  void end_attempt() { hot_files_.end_attempt(); }
  // None comes any more. `done` is called when nothing is used here.
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
  std::shared_ptr<BlockServerLink> link_;  // to the image's server, while it is shared
  NodeSnapshot snapshot_;
  HotFiles hot_files_;
  NodeImage image_;
  StageFiles& staged_;
};

}  // namespace robustrun::agent
