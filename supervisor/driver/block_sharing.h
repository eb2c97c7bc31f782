#pragma once
// Sends each node the list of nodes that pass blocks on to each other: all nodes that have joined.
// Also sends blocks of the code to nodes that get the code from the supervisor.
//
// If the first list had only the first nodes, these would read from storage what the others read as
// well. So the first list waits until all nodes of the run have joined or the group is formed, but
// at most kBlockPeersFirst, as a node without a list reads everything by itself after a while.
// Nodes that join later within kBlockPeersDelay share one new list.
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
    bool is_open = false;  // it is unknown how many nodes will join
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
  // Sends the last list again, as the agent may have missed it.
  void on_connected_again(base::NodeId node);
  void end();

 private:
  void share(bool is_formed);
  void send_list(std::size_t at_least);

  const base::Clock& clock_;
  NodeTable& nodes_;
  const Plan plan_;
  std::optional<wire::BlockPeers> list_;  // sent last; nullopt: no list yet
  std::optional<base::Nanos> since_;  // when the first node joined
  base::Timer timer_;
  std::shared_ptr<bool> goes_on_ = std::make_shared<bool>(true);
};

}  // namespace robustrun::supervisor
