#pragma once
// Links of this node: lost, flapping, with errors. /sys/class/net and /sys/class/infiniband.
//
// Watched are physical interfaces, those that carry the default route, and those that the job names
// for NCCL or gloo; of InfiniBand every port. A link that two of them show (RoCE, IPoIB) is
// watched once. A link that was down when the watch began is nobody's loss.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/health/probe.h"

namespace robustrun::agent {

struct LinkReading {
  std::string name;  // "eth0", "mlx5_0/1"
  bool up = false;
  std::uint64_t downs = 0;  // how often it went down
  std::uint64_t errors = 0;  // all counters of damage
  std::uint64_t drops = 0;
};

// At most kNicsMax. `root` is put before /sys and /proc; `environment` is the workers'.
[[nodiscard]] std::vector<LinkReading> read_links(const std::string& root,
                                                  const std::vector<std::string>& environment);

// What two readings tell, and what is still going on from before. Pure.
class LinkHistory {
 public:
  std::vector<wire::NodeHealth> take(std::vector<LinkReading> readings);

 private:
  struct Link {
    LinkReading last;
    bool down_told = false;
    bool errors_told = false;
    unsigned quiet_looks = 0;
  };
  void compare(Link& link, const LinkReading& now, std::vector<wire::NodeHealth>& found);
  std::map<std::string, Link> links_;
};

[[nodiscard]] WatchedProbe nic_probe(const std::string& root,
                                     const std::vector<std::string>& environment);

}  // namespace robustrun::agent
