#pragma once
// The agent of one node: takes the supervisor's orders, passes them to the agent's parts, and sends
// the supervisor the parts' reports.
//
// Owned by agent.cpp, on its loop. One per process, because it handles the process's signals and
// redirects its log.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/uplink/supervisor_link.h"
#include "base/core/clock.h"
#include "base/io/blocking_pool.h"

namespace boost::asio {
class io_context;
}

namespace robustrun::agent {

class PeerCopies;
class Processes;

class NodeAgent {
 public:
  // The members have the meaning of those of RemoteAgent (agent.h).
  struct Settings {
    bool over_network = false;  // false: the supervisor is on this machine
    bool ends_with_node = false;
    std::vector<int> end_signals{};  // besides SIGTERM and SIGINT
    base::Nanos grace{};  // RemoteAgent::shutdown_grace
    std::vector<int> forwarded_signals{};
    std::vector<std::string> node_environment{};
    std::optional<wire::WorkerTemplate> own_workers{};
    std::vector<OwnStreams> own_streams{};
    OwnConsole::Open open_console{};
    Processes* processes = nullptr;  // null: workers are started below shims
  };
  // What a link may use of the agent. The objects outlive the link.
  struct Means {
    const base::Clock& clock;
    base::Nanos began;  // when the agent started
    const std::string& host;
    PeerCopies& peers;
    base::BlockingPool& pool;
  };
  using MakeLink = std::function<std::unique_ptr<SupervisorLink>(
      const Means& means, SupervisorLink::Handlers handlers)>;
  // Calls `make_link`. After leave(), the loop is stopped when everything that the agent started
  // has ended and the last bytes are sent, after kLeaveMax + kLastBytesMax at the latest.
  NodeAgent(boost::asio::io_context& loop, Settings settings, const MakeLink& make_link);
  ~NodeAgent();
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  // Kills everything that the agent started, then ends the agent.
  void leave();
  [[nodiscard]] bool welcomed() const;
  struct End {
    std::optional<int> exit_code;  // the run's, once the supervisor has dismissed the agent
    int left_by = 0;  // the signal that made the node leave; 0: none
    std::string why;  // the cause, if there is neither an exit code nor a signal
    bool is_cut_off = false;  // the supervisor could not be reached
  };
  [[nodiscard]] End end() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
