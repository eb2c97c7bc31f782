#pragma once
// Getting one agent onto a node. The local launcher starts this same binary as `robustrun agent`
// at the other end of a socket pair; SSH and Slurm implement the same interface.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::launcher {

class AgentLauncher {
 public:
  struct Handlers {
    // The connected channel to the agent; it has not said Hello yet.
    std::function<void(base::Fd)> on_channel;
    // The agent could not be started, or its process ended (how, in words). Called once, last.
    std::function<void(const std::string&)> on_lost;
  };
  virtual ~AgentLauncher() = default;
  virtual void launch(base::NodeId node, base::Generation generation, Handlers handlers) = 0;
  // The agent of an older generation, if still there, is ended first and waited for.
  // The end of a run: SIGKILL for every agent that is still there; on_lost follows.
  virtual void kill_all() = 0;
  [[nodiscard]] virtual bool idle() const = 0;   // no agent process left
};

// `executable`: absolute path of robustrun itself. Makes this process a subreaper, so that what a
// killed agent leaves behind comes to us and is ended (descendants of ours alone).
std::unique_ptr<AgentLauncher> make_local_launcher(boost::asio::any_io_executor executor,
                                                   std::string executable);

}  // namespace robustrun::launcher
