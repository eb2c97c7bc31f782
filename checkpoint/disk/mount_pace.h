#pragma once
// Learns from every save how fast each mount is, so that each gets a fitting share of the data.
// Pure.
//
// A mount's pace is its measured speed divided by its weight, as a fraction of the best mount's. At
// first it is 1. Each measurement moves the pace by half of the difference, so that one slow save
// does not count for much; if little was written, it moves the pace by less, because then latency
// dominates. A mount whose pace is below one half is reported as slow. A slow mount gets little
// data. Once that is too little to be measured, the pace rises a little with every save, so that
// the mount gets more data and is measured again.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::checkpoint {

struct MountReading {
  std::size_t mount = 0;
  double weight = 1;  // from the user; above 0
  std::uint64_t bytes = 0;  // written and synced
  base::Nanos took{0};
};

class MountPace {
 public:
  explicit MountPace(std::size_t mounts) : pace_(mounts, 1) {}

  [[nodiscard]] double of(std::size_t mount) const { return pace_[mount]; }
  // Learns from the readings of one save; readings of less than 4 MiB are ignored. Returns the slow
  // ones among the measured mounts: the index, and a sentence for the user that does not name the
  // mount.
  std::vector<std::pair<std::size_t, std::string>> learn(std::span<const MountReading> readings);

 private:
  std::vector<double> pace_;
};

}  // namespace robustrun::checkpoint
