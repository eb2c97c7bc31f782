#include "checkpoint/mount_pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/core/result.h"

namespace robustrun::checkpoint {

constexpr std::uint64_t kTellingBytes = 64U << 20U;  // below that it is the latency
constexpr double kDrainedBelow = 0.5;
constexpr double kPaceMin = 0.02;  // so that it is seen when a mount is fast again

std::vector<std::pair<std::size_t, std::string>> MountPace::learn(
    std::span<const MountReading> readings) {
  std::vector<std::pair<MountReading, double>> speeds;  // bytes a second and unit of weight
  double best = 0;
  for (const MountReading& reading : readings) {
    RR_ASSERT(reading.mount < pace_.size() && reading.weight > 0);
    if (reading.bytes < kTellingBytes || reading.took <= base::Nanos(0)) continue;
    const double seconds = std::chrono::duration<double>(reading.took).count();
    speeds.emplace_back(reading, static_cast<double>(reading.bytes) / seconds / reading.weight);
    best = std::max(best, speeds.back().second);
  }
  std::vector<std::pair<std::size_t, std::string>> drained;
  for (const auto& [reading, speed] : speeds) {
    double& pace = pace_[reading.mount];
    const double now = speed / best;
    pace = std::clamp((pace + now) / 2, kPaceMin, 1.0);
    if (pace >= kDrainedBelow) continue;
    drained.emplace_back(reading.mount,
                         fmt::format("it wrote {:.0f} MB/s, {:.0f} % of what the others do by "
                                     "their weights: it gets less",
                                     speed * reading.weight / 1e6, now * 100));
  }
  return drained;
}

}  // namespace robustrun::checkpoint
