#pragma once
// Updates that users order at any time during a run.

#include <cstdint>
#include <vector>

#include "tests/sim/event_queue.h"

namespace robustrun::sim {

struct UpdateWish {
  Nanos at;
  std::uint32_t version;  // a new one, if higher than all before
  bool now;
  Nanos within;
};

// Most runs have none.
inline std::vector<UpdateWish> draw_updates(Dice& dice) {
  using std::chrono::hours;
  using std::chrono::minutes;
  std::vector<UpdateWish> wishes;
  for (std::uint64_t i = dice.chance(0.3) ? 1 + dice.below(5) : 0; i > 0; --i) {
    const Nanos at = dice.between({}, dice.chance(0.5) ? Nanos(minutes(2)) : Nanos(hours(1)));
    const auto version = dice.chance(0.7) ? UINT32_MAX : static_cast<std::uint32_t>(dice.below(4));
    const bool now = dice.chance(0.5);
    wishes.push_back({at, version, now, dice.one_of<Nanos>({Nanos{}, minutes(1), hours(1)})});
  }
  return wishes;
}

}  // namespace robustrun::sim
