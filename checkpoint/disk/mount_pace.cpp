#include "checkpoint/disk/mount_pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/core/result.h"

namespace robustrun::checkpoint {

constexpr std::uint64_t kFullBytes = 64U << 20U;    // from this size on a reading counts in full
constexpr std::uint64_t kTellingBytes = 4U << 20U;  // below this size latency dominates
constexpr double kFollows = 0.5;
constexpr double kForgets = 1.0 / 128;  // recovery per save in which the mount was not measured
constexpr double kSlowBelow = 0.5;
constexpr double kKnownBelow = 0.25;  // below this pace few bytes are enough to confirm it
constexpr double kPaceMin = 0.02;  // lowest pace, so that a recovery is noticed

namespace {

bool is_telling(const MountReading& reading) {
  return reading.bytes >= kTellingBytes && reading.took > base::Nanos(0);
}

// Bytes per second and unit of weight.
double speed_of(const MountReading& reading) {
  const double seconds = std::chrono::duration<double>(reading.took).count();
  return static_cast<double>(reading.bytes) / seconds / reading.weight;
}

}  // namespace

std::vector<std::pair<std::size_t, std::string>> MountPace::learn(
    std::span<const MountReading> readings) {
  double best = 0;
  std::uint64_t best_bytes = 0;
  std::vector<bool> measured(pace_.size(), false);
  for (const MountReading& reading : readings) {
    RR_ASSERT(reading.mount < pace_.size() && reading.weight > 0);
    if (!is_telling(reading)) continue;
    measured[reading.mount] = true;
    if (speed_of(reading) <= best) continue;
    best = speed_of(reading);
    best_bytes = reading.bytes;
  }
  std::vector<std::pair<std::size_t, std::string>> slow;
  for (const MountReading& reading : readings) {
    if (!is_telling(reading)) continue;
    double& pace = pace_[reading.mount];
    const double now = speed_of(reading) / best;
    const bool is_known = pace < kKnownBelow && now < pace;
    // A comparison counts as much as the smaller reading.
    const auto bytes = is_known ? kFullBytes : std::min({reading.bytes, best_bytes, kFullBytes});
    const double share = kFollows * static_cast<double>(bytes) / static_cast<double>(kFullBytes);
    pace = std::clamp(pace + (now - pace) * share, kPaceMin, 1.0);
    if (pace >= kSlowBelow) continue;
    slow.emplace_back(reading.mount,
                      fmt::format("it wrote {:.0f} MB/s, {:.0f} % of the others' speed by "
                                  "weight; it gets less data",
                                  speed_of(reading) * reading.weight / 1e6, now * 100));
  }
  for (std::size_t i = 0; i < pace_.size(); ++i) {
    if (!measured[i]) pace_[i] += (1 - pace_[i]) * kForgets;
  }
  return slow;
}

}  // namespace robustrun::checkpoint
