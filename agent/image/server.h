#pragma once
// One `robustrun-blocks serve` of this node: a process of its own that outlives this agent and is
// found again by the next one (docs/formats/block-server.md).
//
// Owned by NodeImage, on the agent's loop. Nothing is called after the destructor, which leaves the
// server running: quit() ends it.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/node/node_context.h"
#include "base/core/result.h"
#include "bootstrap/store/block_protocol.h"

namespace robustrun::agent {

class ImageServer {
 public:
  struct Plan {
    std::string program;  // absolute path of robustrun-blocks
    std::string source, cache, mount, socket, folder;  // `folder`: of mount and socket
    bool has_peers = false;  // it may ask peers for blocks (block_server_link.h)
  };
  struct Handlers {
    // Called once: when MOUNT/image can be read, or with an error if it never will be.
    std::function<void(base::Status)> on_ready;
    std::function<void(const std::string&)> on_event;  // a sentence for the log
    // Reads of the image fail, because missing blocks cannot be fetched; `is_over`: no longer.
    std::function<void(const std::string& why, bool is_over)> on_reads;
    std::function<void(const std::string& why)> on_lost;  // after on_ready: the server is gone
    std::function<void(const std::string& why)> on_wrong;  // its content is not what was asked for
    std::function<void()> on_recorded;  // after settled(): the profile is saved
  };
  // Starts the server, or takes over one that listens at the socket already.
  static std::unique_ptr<ImageServer> start(NodeContext& node, Plan plan, Handlers handlers);
  virtual ~ImageServer() = default;

  using Answer = std::function<void(base::Result<bootstrap::BlockServerStatus>)>;
  // kTimeout when it does not answer in time. A newer question replaces an unanswered one.
  virtual void ask(std::chrono::milliseconds within, Answer answer) = 0;
  virtual void settled() = 0;
  // `done` is called when the server has confirmed that it ends, or after kImageServerQuitMax.
  virtual void quit(std::function<void()> done) = 0;
  [[nodiscard]] virtual bool is_adopted() const = 0;
};

}  // namespace robustrun::agent
