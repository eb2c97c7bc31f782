#include "agent/health/clock_health.h"

#include <fmt/core.h>

#include <utility>

#include "agent/health/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

using base::Nanos;
using wire::NodeHealth;

constexpr std::size_t kUptimeBytesMax = 256;

class ClockProbe final : public HealthProbe {
 public:
  ClockProbe(std::string root, const base::Clock& clock) : root_(std::move(root)), clock_(clock) {}

  std::vector<NodeHealth> look(Nanos) override {
    const auto early = uptime();
    const Nanos wall = clock_.wall_time();
    const auto late = uptime();
    // After a pause in between, the two readings say nothing about each other.
    if (!early || !late || *late - *early >= kClockJumpMin / 2) return {};
    const ClockReading now{wall, *late};
    const auto before = std::exchange(before_, now);
    return before ? clock_changes(*before, now) : std::vector<NodeHealth>{};
  }

 private:
  [[nodiscard]] std::optional<Nanos> uptime() const {
    const auto text = base::read_file(root_ + "/proc/uptime", kUptimeBytesMax);
    return text ? parse_uptime(*text) : std::nullopt;
  }

  std::string root_;
  const base::Clock& clock_;
  std::optional<ClockReading> before_;
};

}  // namespace

std::optional<Nanos> parse_uptime(std::string_view text) {
  constexpr std::uint64_t kSecondsMax = std::uint64_t{1} << 33;
  constexpr std::size_t kDigits = 2;
  const std::string_view word = text.substr(0, text.find(' '));
  const std::size_t dot = word.find('.');
  if (dot == word.npos || word.size() != dot + 1 + kDigits) return std::nullopt;
  const auto seconds = base::parse_int<std::uint64_t>(word.substr(0, dot));
  const auto hundredths = base::parse_int<std::uint64_t>(word.substr(dot + 1));
  if (!seconds || !hundredths || *seconds > kSecondsMax) return std::nullopt;
  constexpr std::chrono::milliseconds kHundredth{10};
  return std::chrono::seconds(static_cast<std::int64_t>(*seconds)) +
         kHundredth * static_cast<std::int64_t>(*hundredths);
}

std::vector<NodeHealth> clock_changes(const ClockReading& before, const ClockReading& now) {
  const Nanos jump = (now.wall - before.wall) - (now.boot - before.boot);
  if (jump < kClockJumpMin && -jump < kClockJumpMin) return {};
  return {{NodeHealth::Source::kClock, "clock",
           fmt::format("the clock of day jumped by {:+.1f} s",
                       std::chrono::duration<double>(jump).count()),
           0, false}};
}

WatchedProbe clock_probe(const std::string& root, const base::Clock& clock) {
  return {NodeHealth::Source::kClock, "clock", kPressureInterval,
          std::make_shared<ClockProbe>(root, clock)};
}

}  // namespace robustrun::agent
