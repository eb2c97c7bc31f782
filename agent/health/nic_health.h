#pragma once
// Watches this node's network links in /sys/class/net and /sys/class/infiniband, and reports those
// that go down, flap or have errors.
//
// It watches physical interfaces, interfaces of the default route, interfaces that the job names
// for NCCL or gloo, and every InfiniBand port. A link that is both an interface and a port (RoCE,
// IPoIB) is watched once. A link that was down when the watch began is not reported until it has
// been up.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/health/probe.h"

namespace robustrun::agent {

struct LinkReading {
  std::string name;  // "eth0", "mlx5_0/1"
  bool up = false;
  std::uint64_t downs = 0;  // how often the link went down
  std::uint64_t errors = 0;  // sum of several error counters
  std::uint64_t drops = 0;
};

// Reads the watched links, at most kNicsMax. `root` is put before /sys and /proc. `environment`:
// NAME=VALUE entries of the workers.
[[nodiscard]] std::vector<LinkReading> read_links(const std::string& root,
                                                  const std::vector<std::string>& environment);

// Compares readings, and remembers which reported troubles are not over. Pure.
class LinkHistory {
 public:
  // Returns the findings from the differences between `readings` and the previous ones.
  std::vector<wire::NodeHealth> take(std::vector<LinkReading> readings);

 private:
  struct Link {
    LinkReading last;
    bool down_reported = false;
    bool errors_reported = false;
    unsigned quiet_looks = 0;
  };
  void compare(Link& link, const LinkReading& now, std::vector<wire::NodeHealth>& found);
  std::map<std::string, Link> links_;
};

[[nodiscard]] WatchedProbe nic_probe(const std::string& root,
                                     const std::vector<std::string>& environment);

}  // namespace robustrun::agent
