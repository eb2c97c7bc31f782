#pragma once
// Does a node's slurmd take connections? Without it nothing can be started there, and where the
// machine is gone it is gone, too.

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
  std::string host;    // a name or a numeric address
  std::uint16_t port = 0;
  bool operator==(const SlurmdAddress&) const = default;
};
// From `scontrol show node`; without a host when it is not there.
[[nodiscard]] SlurmdAddress read_slurmd_address(std::string_view shown);

// `done` within 1.5 s, from the loop.
void probe_slurm_node(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                      const SlurmOptions& options, const std::string& node,
                      std::function<void(bool answers)> done);

}  // namespace robustrun::launcher
