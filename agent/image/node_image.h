#pragma once
// The image with the workers' environment (`--image`) on this node: served, mounted, and made the
// root or the first folder on PATH of what is started here.
//
// Owned by the WorkerSet, on the agent's loop; what blocks is on threads. It begins as soon as the
// run is known here, long before there are orders. Once it is there, NodeContext's template and
// `home` are those of workers in it. A failed one is tried again by the next attempt, unless it
// will be no other one then. Mounts of dead runs are removed on the way; a server of blocks that a
// dead agent of this run left is taken over.

#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "base/core/result.h"

namespace robustrun::agent {

class NodeImage {
 public:
  struct Hooks {
    std::function<void()> on_ready;  // it is there; before a start that waits for it goes on
    // A server of its blocks (docs/formats/block-server.md) listens at this socket. Before any of
    // it is read ahead, if nodes pass blocks on.
    std::function<void(const std::string& socket)> on_served;
    std::function<void()> on_wrong;  // workers run what nobody asked for: they must end
  };
  // Each is called every time.
  NodeImage(NodeContext& node, Hooks hooks);
  ~NodeImage();
  NodeImage(const NodeImage&) = delete;
  NodeImage& operator=(const NodeImage&) = delete;

  // `go` is called once: at once where there is no image, or it is there already; else with why the
  // attempt cannot start, in a sentence. A later call takes the place of one that waits.
  void begin_attempt(std::function<void(base::Status)> go);
  // All workers have done a step: what they read so far is what the next start reads first. Where
  // they never do one, that is all they read.
  void settled();
  // They got SIGKILL. Readers of a FUSE server that does not answer would stay for ever: then its
  // connection is aborted, and the next attempt gets the image anew.
  void workers_killed();
  void workers_gone();
  // No process uses it any more. `done` is called when nothing is mounted, or after kImageEndMax.
  void end(std::function<void()> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
