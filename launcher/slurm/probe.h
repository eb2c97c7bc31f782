#pragma once
// Does a node's slurmd accept connections? Without it nothing can be started there; on a dead
// machine it is dead, too.

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
// From `scontrol show node`; `host` stays empty when it is missing there.
[[nodiscard]] SlurmdAddress read_slurmd_address(std::string_view shown);

// Calls `done` from the loop: within 1.5 s, unless the name look-up is slow or another probe runs.
void probe_slurm_node(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                      const SlurmOptions& options, const std::string& node,
                      std::function<void(bool answers)> done);

}  // namespace robustrun::launcher
