#pragma once
// Getting one agent onto a node. Implementations: local_launcher.cpp (this machine, a socket
// pair), process_launcher.cpp (this machine, several agents that call home over TLS) and
// ssh_launcher.h. Agents that people start themselves need none.
//
// A launcher reports what happened and decides nothing. On the loop of its executor.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::launcher {

struct LaunchOrder {
  base::NodeId node;
  base::Generation generation;
  // One line for the agent's standard input (wire/tls/credential.h); empty where the agent gets a
  // socket pair.
  std::string credential;
};

// How an agent ended, or why it could not be started.
struct AgentEnd {
  std::string why;
  // False: the machine itself does not answer any more, as far as the launcher can tell.
  bool node_answers = true;
};

class AgentLauncher {
 public:
  struct Handlers {
    // Socket pairs alone: the connected channel to the agent; it has not said Hello yet.
    std::function<void(base::Fd)> on_channel;
    // The agent could not be started, or its process ended. Called once, last.
    std::function<void(const AgentEnd&)> on_lost;
  };
  virtual ~AgentLauncher() = default;
  // The agent of an older generation on that node, if still there, is ended first and waited for
  // (as far as the node answers).
  virtual void launch(LaunchOrder order, Handlers handlers) = 0;
  // The second channel: does the machine answer? `done` is called within 1.5 s.
  virtual void probe(base::NodeId node, std::function<void(bool answers)> done) = 0;
  // The end of a run: every agent that is still there is killed; on_lost follows.
  virtual void kill_all() = 0;
  // Another supervisor has taken the run over: our own end must not touch its agents.
  virtual void abandon() {}
  [[nodiscard]] virtual bool idle() const = 0;  // no agent process left, as far as it can be known
};

// `executable`: absolute path of robustrun itself. Makes this process a subreaper, so that what a
// killed agent leaves behind comes to us and is ended (descendants of ours alone).
std::unique_ptr<AgentLauncher> make_local_launcher(boost::asio::any_io_executor executor,
                                                   std::string executable);

// Any number of agents on this machine, each with its credential on its standard input: tests,
// drills and `--launcher=processes`. Subreaper, as above; what an agent leaves behind is told
// apart by its session.
std::unique_ptr<AgentLauncher> make_process_launcher(boost::asio::any_io_executor executor,
                                                     std::string executable);

}  // namespace robustrun::launcher
