#pragma once
// The image with the workers' environment (`--image`) on this node: served, mounted, and made the
// root, or the first folder on PATH, of what is started here.
//
// Owned by the Preparation, on the agent's loop; blocking work runs on threads. Begins as soon as
// the run is known here, long before the first order. Once the image is ready,
// NodeContext::started_with and `home` describe workers inside it. After a failure the next attempt
// tries again, unless the outcome would be the same. Mounts of dead runs are removed on the way,
// and a block server that a dead agent of this run left is taken over.

#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "base/core/result.h"

namespace robustrun::agent {

class NodeImage {
 public:
  struct Hooks {
    std::function<void()> on_ready;  // called before a start that waits for the image goes on
    // A server of its blocks (docs/formats/block-server.md) listens at `socket`. Called before any
    // block is read ahead, if nodes share blocks.
    std::function<void(const std::string& socket)> on_served;
    std::function<void()> on_wrong;  // workers run another image than asked for and must end
  };
  // A hook is called each time its event happens. None may be empty.
  NodeImage(NodeContext& node, Hooks hooks);
  ~NodeImage();
  NodeImage(const NodeImage&) = delete;
  NodeImage& operator=(const NodeImage&) = delete;

  // `go` is called once: at once if there is no image or it is ready; with an error, in a sentence,
  // if the attempt cannot start. A later call replaces one that waits.
  void begin_attempt(std::function<void(base::Status)> go);
  // All workers have done a step: what they have read so far is what the next start reads ahead. If
  // they never do a step, that is everything they read.
  void settled();
  // The workers got SIGKILL. Readers of a FUSE server that does not answer would never die, so its
  // connection is then aborted, and the next attempt mounts the image anew.
  void workers_killed();
  // No worker of the attempt is left: the connection stays.
  void workers_gone();
  // No process uses the image any more. `done` is called when nothing is mounted, or after
  // kImageEndMax.
  void end(std::function<void()> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
