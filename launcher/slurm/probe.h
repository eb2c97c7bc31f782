#pragma once
// Does a node's slurmd accept connections? Without slurmd nothing can be started on the node, and
// on a dead machine slurmd is dead, too.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "launcher/slurm/command.h"

namespace robustrun::base {
class BlockingPool;
}

namespace robustrun::launcher {

struct SlurmdAddress {
  std::string host;    // name or numeric address
  std::uint16_t port = 0;
  bool operator==(const SlurmdAddress&) const = default;
};
// `shown`: output of `scontrol show node`. `host` is empty if `shown` has no address.
[[nodiscard]] SlurmdAddress read_slurmd_address(std::string_view shown);

// Calls `done` on the loop, within 1.5 s unless the name look-up is slow or another probe runs. If
// Slurm does not tell the node's address, the node counts as one that answers.
void probe_slurm_node(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                      const SlurmOptions& options, const std::string& node,
                      std::function<void(bool answers)> done);

}  // namespace robustrun::launcher
