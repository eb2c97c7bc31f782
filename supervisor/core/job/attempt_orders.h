#pragma once
// Which supervisor of the run ordered which attempt. Each goes on counting where the one before was
// seen last, which may live on and count on, too: the number alone does not say whose workers they
// are.

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
    base::Attempt first;  // attempt that it ordered
    template <class V>
    void fields(V& v) {
      v(1, "incarnation", incarnation);
      v(2, "first", first);
    }
  };
  std::vector<Turn> turns;  // ascending by both; of the newest supervisors that ordered anything

  void ordered(base::Attempt attempt, std::uint32_t incarnation) {
    if (!turns.empty() && turns.back().incarnation == incarnation) return;
    if (turns.size() >= kOrderTurnsMax) turns.erase(turns.begin());
    turns.push_back({incarnation, attempt});
  }
  // 0: not known (any more).
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
