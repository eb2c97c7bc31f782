#pragma once
// The interface to start agents on nodes. Implementations: local_launcher.h (this machine, a socket
// pair), process_launcher.h (this machine, several agents that connect over TLS), slurm/launcher.h
// and ssh/launcher.h. Agents that users start themselves need no launcher.
//
// A launcher reports what happened and decides nothing. To be used on the loop of its executor,
// where it also calls handlers, perhaps before launch() returns.

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
  // One line for the agent's standard input (wire/tls/credential.h). Empty if the agent gets a
  // socket pair.
  std::string credential;
};

// How an agent ended, or why it could not be started.
struct AgentEnd {
  std::string why;
  // False: as far as the launcher can tell, the machine itself does not answer.
  bool node_answers = true;
  // Not empty: another try would fail in the same way until a person changes something. `lasting`
  // is then a short form of `why`, the same for all nodes with this trouble ("its host key is
  // unknown").
  std::string lasting{};
  bool is_gone = false;  // the node is lost to the run for good
  bool is_bad_input = false;  // `lasting` is not empty, and a wrong option of the run is to blame
};

class AgentLauncher {
 public:
  struct Handlers {
    // With socket pairs only: receives our end of the pair. The agent has not sent Hello yet.
    std::function<void(base::Fd)> on_channel;
    // The agent could not be started, or its process ended. Called at most once, as the last
    // handler; not called after another launch() for the node.
    std::function<void(const AgentEnd&)> on_lost;
  };
  virtual ~AgentLauncher() = default;
  // Starts the agent of `order`. First ends an agent of an older generation on that node, and waits
  // for its end if the node answers.
  virtual void launch(LaunchOrder order, Handlers handlers) = 0;
  // Checks whether the machine answers, independently of the agent; `done` is normally called
  // within 1.5 s.
  virtual void probe(base::NodeId node, std::function<void(bool answers)> done) = 0;
  // For the end of a run: kills every remaining agent, whose on_lost follows. Drops orders whose
  // agent has not been started.
  virtual void kill_all() = 0;
  // Another supervisor has taken over the run: the agents must continue when this process ends.
  virtual void abandon() {}
  [[nodiscard]] virtual bool idle() const = 0;  // no agent process is left, as far as known
};

}  // namespace robustrun::launcher
