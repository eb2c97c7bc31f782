#pragma once
// The connection between the supervisor and one agent, as TCP and both ends see it. Within a
// connection nothing is lost, repeated or out of order. Messages under way when it breaks never
// arrive, and each end keeps sending into the void until it notices (half-open). Then the agent
// reconnects, repeats its reports of the attempt, and gets its orders again.

#include <functional>
#include <optional>
#include <vector>

#include "tests/sim/virtual_node.h"

namespace robustrun::sim {

// One direction. Its events are independent of other channels' dice.
struct Channel {
  std::uint32_t number = 0;  // as Mishap's
  Dice dice;
  Nanos last{};  // when its last message arrives
};

struct Line {
  std::uint32_t number = 0;  // of the connection
  bool is_up = false;
  bool is_slow = false;
  Nanos down_since{};
  Nanos blocked_until{};  // no message passes before
};

// What the supervisor's driver knows about an agent.
struct Link {
  using Order = std::function<void(VirtualNode&)>;
  base::Generation generation;
  bool joined = false, lost = false;
  std::uint32_t launched_by = 0;  // incarnation: its launcher notices the agent's death
  std::vector<Order> orders{};    // of the newest attempt, repeated on reconnection
  std::optional<Order> copies{};
  std::optional<core::StartWorkers> started{};  // its latest start order
};

// A node's clocks as its messages show them: the monotonic one begins with the boot and drifts, the
// other may be off by years and is adjusted from time to time.
struct NodeClock {
  Nanos ahead{};
  std::int64_t drift_ppm = 0;
  Nanos set_at = Nanos::max(), set_by{};

  [[nodiscard]] Nanos shows(Nanos now) const {
    constexpr std::int64_t kMillion = 1'000'000;
    return now + ahead + now / kMillion * drift_ppm + (now >= set_at ? set_by : Nanos{});
  }
};

inline NodeClock draw_clock(Dice& dice) {
  using std::chrono::hours;
  constexpr Nanos kYears = hours(24 * 365 * 30);
  NodeClock clock;
  const auto either = [&dice](Nanos most) { return dice.between({}, 2 * most) - most; };
  clock.ahead = either(dice.one_of<Nanos>({seconds(2), hours(1), kYears}));
  clock.drift_ppm = static_cast<std::int64_t>(dice.below(2000)) - 1000;
  if (dice.chance(0.5)) {
    clock.set_at = dice.between({}, hours(2));
    clock.set_by = either(dice.one_of<Nanos>({seconds(30), hours(5), kYears}));
  }
  return clock;
}

}  // namespace robustrun::sim
