#pragma once
// Starts and controls a block server of this node, `robustrun-blocks serve`: a process that
// outlives the agent, and that the next agent finds again (docs/formats/block-server.md).
//
// Owned by NodeImage, on the agent's loop. The destructor leaves the server running; quit() ends
// it. No handler is called after the destructor.

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
    // `source`: the image's path or URL. `folder` contains `mount` and `socket`.
    std::string source, cache, mount, socket, folder;
    bool has_peers = false;  // the server may ask peers for blocks (block_server_link.h)
  };
  struct Handlers {
    // Called once: when MOUNT/image can be read, or with an error if the server cannot provide it.
    std::function<void(base::Status)> on_ready;
    std::function<void(const std::string&)> on_event;  // a sentence for the log
    // Reads of the image fail, because missing blocks cannot be fetched. `is_over`: they no longer
    // fail.
    std::function<void(const std::string& why, bool is_over)> on_reads;
    std::function<void(const std::string& why)> on_lost;  // after on_ready: the server is gone
    // The content of the image is not the one that was asked for.
    std::function<void(const std::string& why)> on_wrong;
    std::function<void()> on_recorded;  // after settled(): the profile is saved
  };
  // Starts the server, or takes over a server that already listens at the socket.
  static std::unique_ptr<ImageServer> start(NodeContext& node, Plan plan, Handlers handlers);
  virtual ~ImageServer() = default;

  using Answer = std::function<void(base::Result<bootstrap::BlockServerStatus>)>;
  // Asks for the server's status. kTimeout: no answer in time. kUnavailable: no connection. A newer
  // question replaces an unanswered one.
  virtual void ask(std::chrono::milliseconds within, Answer answer) = 0;
  // Tells the server to save the profile of the blocks that were read so far.
  virtual void settled() = 0;
  // Ends the server. Calls `done` when the server has confirmed the order or has ended, or after
  // kImageServerQuitMax.
  virtual void quit(std::function<void()> done) = 0;
  // start() took over a running server.
  [[nodiscard]] virtual bool is_adopted() const = 0;
};

}  // namespace robustrun::agent
