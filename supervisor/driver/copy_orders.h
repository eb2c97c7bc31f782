#pragma once
// Copies of workers' states in the memory of other nodes: orders that tell each node where to send
// its copies, and rounds in which all ranks send the copies of one step (watch/copy_rounds.h).
//
// Owned by the driver, on its loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <optional>

#include "base/core/clock.h"
#include "base/io/timer.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/types/copy_events.h"
#include "supervisor/watch/copies_watch.h"
#include "supervisor/watch/copy_rounds.h"

namespace robustrun::supervisor {

class CopyOrders {
 public:
  struct Plan {
    std::uint64_t rate = 0;  // --copies-rate in bytes per second; 0: the agents' choice
    std::function<void(CopiesKept, base::NodeId)> on_news;  // copies came, went or moved
  };
  // The references outlive this object.
  CopyOrders(const boost::asio::any_io_executor& executor, const base::Clock& clock,
             NodeTable& nodes, Plan plan);

  void begin_attempt(base::Attempt attempt, std::uint32_t world_size);
  // Replaces the node's previous order. NodeTable::repeat_orders() repeats the new one.
  void place(const PlaceCopies& action);
  void on_report(base::NodeId node, const wire::CopiesKept& report);
  // Sends the order of the current round again, as the agent may have missed it. To be called after
  // the agent's start order was repeated.
  void on_connected_again(base::NodeId node);
  void end() { timer_.cancel(); }

 private:
  void begin_round();

  const base::Clock& clock_;
  NodeTable& nodes_;
  const Plan plan_;
  CopiesWatch watch_;
  CopyRounds rounds_;
  base::Timer timer_;
};

}  // namespace robustrun::supervisor
