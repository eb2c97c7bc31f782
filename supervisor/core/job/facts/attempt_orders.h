#pragma once
// Which supervisor of the run ordered which attempt. After a takeover both the successor and a
// predecessor that still lives may order further attempts, with the same numbers. So an attempt's
// number alone does not tell which of them ordered its workers.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

struct AttemptOrders {
  struct Turn {
    std::uint32_t incarnation = 0;
    base::Attempt first;  // the first attempt that this incarnation ordered
    template <class V>
    void fields(V& v) {
      v(1, "incarnation", incarnation);
      v(2, "first", first);
    }
  };
  std::vector<Turn> turns;  // ascending by incarnation and attempt; the newest kOrderTurnsMax

  void ordered(base::Attempt attempt, std::uint32_t incarnation) {
    if (!turns.empty() && turns.back().incarnation == incarnation) return;
    if (turns.size() >= kOrderTurnsMax) turns.erase(turns.begin());
    turns.push_back({incarnation, attempt});
  }
  // The incarnation that ordered `attempt`; 0: unknown, or forgotten.
  [[nodiscard]] std::uint32_t by(base::Attempt attempt) const {
    const auto after = std::ranges::upper_bound(turns, attempt, {}, &Turn::first);
    return after == turns.begin() ? 0 : std::prev(after)->incarnation;
  }

  template <class V>
  void fields(V& v) {
    v(1, "turns", turns);
  }
};

}  // namespace robustrun::supervisor
