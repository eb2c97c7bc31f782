#include "agent/clock_health.h"

#include <fmt/core.h>

#include <utility>

#include "agent/health_limits.h"

namespace robustrun::agent {
namespace {

using base::Nanos;
using wire::NodeHealth;

class ClockProbe final : public HealthProbe {
 public:
  explicit ClockProbe(const base::Clock& clock) : clock_(clock) {}
  std::vector<NodeHealth> look(Nanos) override {
    const ClockReading now{clock_.wall_time(), clock_.since_boot()};
    const auto before = std::exchange(before_, now);
    return before ? clock_changes(*before, now) : std::vector<NodeHealth>{};
  }

 private:
  const base::Clock& clock_;
  std::optional<ClockReading> before_;
};

}  // namespace

std::vector<NodeHealth> clock_changes(const ClockReading& before, const ClockReading& now) {
  const Nanos jump = (now.wall - before.wall) - (now.boot - before.boot);
  if (jump < kClockJumpMin && -jump < kClockJumpMin) return {};
  return {{NodeHealth::Source::kClock, "clock",
           fmt::format("the clock of day jumped by {:+.1f} s",
                       std::chrono::duration<double>(jump).count()),
           0, false}};
}

WatchedProbe clock_probe(const base::Clock& clock) {
  return {NodeHealth::Source::kClock, "clock", kPressureInterval,
          std::make_shared<ClockProbe>(clock)};
}

}  // namespace robustrun::agent
