#pragma once
// The agent of one node: it takes the supervisor's orders, gives them to its parts, and sends what
// these report.
//
// Owned by agent.cpp, on its loop; one per process, as it takes the process's signals and its log.

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
  // As in RemoteAgent (agent.h).
  struct Settings {
    bool over_network = false;  // false: the supervisor is on this machine
    bool ends_with_node = false;
    std::vector<int> end_signals{};  // besides SIGTERM and SIGINT
    base::Nanos grace{};
    std::vector<int> forwarded_signals{};
    std::vector<std::string> node_environment{};
    std::optional<wire::WorkerTemplate> own_workers{};
    std::vector<OwnStreams> own_streams{};
    OwnConsole::Open open_console{};
    Processes* processes = nullptr;  // as in NodeContext
  };
  // What a link needs of the agent; it outlives the link.
  struct Means {
    const base::Clock& clock;
    base::Nanos began;
    const std::string& host;
    PeerCopies& peers;
    base::BlockingPool& pool;
  };
  using MakeLink = std::function<std::unique_ptr<SupervisorLink>(
      const Means& means, SupervisorLink::Handlers handlers)>;
  // `make_link` is called at once. The loop is stopped when everything that was started here has
  // ended, or after kLeaveMax.
  NodeAgent(boost::asio::io_context& loop, Settings settings, const MakeLink& make_link);
  ~NodeAgent();
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  // Ends everything that was started here, as after a dismissal, a second signal, or the loss of
  // the supervisor.
  void leave();
  [[nodiscard]] bool welcomed() const;
  struct End {
    std::optional<int> exit_code;  // the run's, once the supervisor has dismissed us
    int left_by = 0;  // the signal that made us leave; 0: none
    std::string why;  // we left without either
    bool is_cut_off = false;  // because the supervisor could not be reached
  };
  [[nodiscard]] End end() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
