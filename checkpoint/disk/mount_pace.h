#pragma once
// How fast the mounts really are, so that each gets what it can take: learned from every save.
// Plain data in, plain data out.
//
// A mount's pace is its measured speed in units of its weight, relative to the best of them: 1
// when it keeps up with its weight. It follows the measurements by half of the difference, so that
// one slow save alone is no news, and by less where little was written: then the latency has its
// say. A mount whose pace is below one half is drained, which is said. One that gets too little to
// be measured slowly gets more, until it is.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::checkpoint {

struct MountReading {
  std::size_t mount = 0;
  double weight = 1;        // as given by the user, above 0
  std::uint64_t bytes = 0;  // written and synced
  base::Nanos took{0};
};

class MountPace {
 public:
  explicit MountPace(std::size_t mounts) : pace_(mounts, 1) {}

  [[nodiscard]] double of(std::size_t mount) const { return pace_[mount]; }
  // Of one save; what wrote too little says nothing. Answers which mounts are
  // drained, by index and a sentence without its name.
  std::vector<std::pair<std::size_t, std::string>> learn(std::span<const MountReading> readings);

 private:
  std::vector<double> pace_;
};

}  // namespace robustrun::checkpoint
