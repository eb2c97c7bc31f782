#pragma once
// Mounts the image with the workers' environment (`--image`) on this node, if necessary through a
// block server. The image becomes the workers' root, or its programs come first on their PATH.
//
// Owned by the Preparation, on the agent's loop; blocking work runs on threads. The work begins
// when this object is made, long before the first start order. Once the image is ready,
// NodeContext::started_with and NodeContext::home describe workers that use the image. After a
// failure the next attempt tries again, unless that would fail in the same way. Mounts of dead runs
// are removed, and a block server that a dead agent of this run left is taken over.

#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "base/core/result.h"

namespace robustrun::agent {

class NodeImage {
 public:
  struct Hooks {
    std::function<void()> on_ready;  // the image is ready; a start that waits for it goes on next
    // A block server of the image (docs/formats/block-server.md) listens at `socket`.
    std::function<void(const std::string& socket)> on_served;
    std::function<void()> on_wrong;  // workers run another image than asked for and must end
  };
  // A hook is called each time its event happens. No hook may be empty.
  NodeImage(NodeContext& node, Hooks hooks);
  ~NodeImage();
  NodeImage(const NodeImage&) = delete;
  NodeImage& operator=(const NodeImage&) = delete;

  // Calls `go` once when the image is ready: at once if it is ready already, or if the run has no
  // image. `go` gets an error, with a text for the user, if the attempt cannot start. A later call
  // drops an earlier `go` that still waits.
  void begin_attempt(std::function<void(base::Status)> go);
  // All workers have done a step. The blocks that they have read so far become the profile that the
  // next start reads ahead. Without this call, the profile has all blocks read until end().
  void settled();
  // The workers got SIGKILL. If they wait for a FUSE server that does not answer, they never die.
  // The server's connection is then aborted, and the next attempt mounts the image anew.
  void workers_killed();
  // No worker of the attempt is left: the connection need not be aborted any more.
  void workers_gone();
  // The last call, when no process uses the image any more. Calls `done` when the image is
  // unmounted, or after kImageEndMax.
  void end(std::function<void()> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
