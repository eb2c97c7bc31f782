#pragma once
// Which nodes pass blocks on to each other: all that have joined, once all nodes of the run have,
// or some have and others are late. And blocks of the code, for nodes that get them from here.
//
// With a list of only the first nodes these would read from storage what the others read as well.
// So the list waits for all nodes that were requested, but not for long: without a list each node
// reads everything by itself after a while. Nodes that join later get the list together, a moment
// later.
//
// Owned by the driver, on its loop.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/timer.h"
#include "supervisor/agents/node_table.h"
#include "wire/messages/block_peers.h"

namespace robustrun::supervisor {

class BlockSharing {
 public:
  struct Plan {
    bool is_wanted = false;  // the run has files or an image to share over a network
    bool is_open = false;  // how many nodes will join is unknown
    std::uint64_t rate = 0;  // --peers-rate in bytes per second; 0: no limit
    // Reads a block of the code, and answers once, from the loop; null: nodes have the code.
    std::function<void(std::uint64_t block, std::function<void(base::Result<std::string>)>)>
        read_code{};
  };
  // The references outlive this object.
  BlockSharing(const boost::asio::any_io_executor& executor, const base::Clock& clock,
               NodeTable& nodes, Plan plan);

  void on_joined() { share(false); }
  void on_group_formed() { share(true); }
  void on_report(base::NodeId node, const wire::CodeWanted& wanted);
  // The agent may have missed the list that was sent last.
  void on_connected_again(base::NodeId node);
  void end();

 private:
  void share(bool is_formed);
  void send_list(std::size_t at_least);

  const base::Clock& clock_;
  NodeTable& nodes_;
  const Plan plan_;
  std::optional<wire::BlockPeers> list_;  // that was sent last; none: no list yet
  std::optional<base::Nanos> since_;  // when the first node for the list joined
  base::Timer timer_;
  std::shared_ptr<bool> goes_on_ = std::make_shared<bool>(true);
};

}  // namespace robustrun::supervisor
