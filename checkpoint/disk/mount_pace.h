#pragma once
// Learns from every save how fast each mount really is, so that it gets a fitting share of the
// data. Plain data in, plain data out.
//
// A mount's pace is its measured speed divided by its weight, relative to the best mount: 1 if it
// keeps up with its weight. Each measurement moves the pace by half of the difference, so that one
// slow save does not count for much, and by less if little was written, because then latency
// dominates. A mount whose pace falls below one half is reported as slow. A slow mount gets little
// data; once that is too little to be measured, its pace rises a little with every save, so that it
// gets more data and is measured again.

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
  // Learns from the readings of one save; readings of too few bytes are ignored. Of the mounts
  // measured, returns those that are slow, by index, with a sentence that does not name them.
  std::vector<std::pair<std::size_t, std::string>> learn(std::span<const MountReading> readings);

 private:
  std::vector<double> pace_;
};

}  // namespace robustrun::checkpoint
