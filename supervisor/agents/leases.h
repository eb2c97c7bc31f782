#pragma once
// Leases of agents: a node is suspect after a short silence, and lost in one of three cases.
//
// 1. Its connection is broken, and its machine does not answer on the second channel
//    (AgentLauncher::probe).
// 2. Its connection is broken, and its agent has not reconnected within LeaseTimes::suspect_after
//    (LeaseTimes::lost_after since a takeover).
// 3. Its agent has been silent for LeaseTimes::lost_after.
//
// In cases 2 and 3 a node with ranks is kept while other ranks do steps, because that shows that
// its ranks still work. It is kept for at most kSilenceWithProgressMax.
//
// Owned by the driver, on its loop.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/io/timer.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/heartbeat_times.h"

namespace robustrun::supervisor {

class Leases {
 public:
  struct Hands {
    // The node is given up. `node_answers`: whether its machine answered on the second channel.
    std::function<void(base::NodeId, const std::string& why, bool node_answers)> lose;
    // Asks the machine on the second channel; answers once, from the loop. Called only if
    // has_probe() is true.
    std::function<void(base::NodeId, std::function<void(bool answers)>)> probe;
    std::function<bool(base::NodeId)> has_probe;
    std::function<bool()> peers_progress;  // other ranks have done steps lately
    std::function<void()> on_check;  // before each check; kLeaseChecksPerBeat checks per heartbeat
    std::function<void(base::NodeId, std::uint64_t number)> beat;  // a heartbeat to the node is due
  };
  // The references outlive this object.
  Leases(const boost::asio::any_io_executor& executor, const base::Clock& clock,
         const LeaseTimes& times, NodeTable& nodes, Hands hands);

  void begin();
  void end();
  // Makes the node suspect and asks its machine on the second channel. Does nothing if the node is
  // suspect already, or if agents do not connect over the network.
  void suspect(base::NodeId node, const std::string& why);

 private:
  void check_all();
  void check(base::NodeId node);

  const base::Clock& clock_;
  const LeaseTimes& times_;
  NodeTable& nodes_;
  const Hands hands_;
  std::uint64_t checks_ = 0;
  base::Timer timer_;
  std::shared_ptr<bool> goes_on_ = std::make_shared<bool>(true);  // until end()
};

}  // namespace robustrun::supervisor
