#pragma once
// The clock of a run that another supervisor has taken over: the journal's times rise across hosts
// and reboots.

#include <algorithm>

#include "base/core/clock.h"

namespace robustrun::supervisor {

class ContinuedClock final : public base::Clock {
 public:
  explicit ContinuedClock(base::Nanos ahead = {}) : ahead_(ahead) {}
  [[nodiscard]] base::Nanos now() const override { return system_.now() + ahead_; }
  [[nodiscard]] base::Nanos wall_time() const override { return system_.wall_time(); }

 private:
  base::SystemClock system_;
  base::Nanos ahead_;
};

// How far that clock is ahead of the machine's own. `last`: time of the journal's last entry;
// `last_wall`: Unix time then. On the same boot both clocks are the same; otherwise only wall
// clocks tell how much time has passed, which is never negative.
inline base::Nanos clock_ahead(bool same_boot, base::Nanos last, base::Nanos last_wall,
                               const base::Clock& machine) {
  if (same_boot && machine.now() >= last) return {};
  const base::Nanos away = std::max(base::Nanos{}, machine.wall_time() - last_wall);
  return last + away - machine.now();
}

}  // namespace robustrun::supervisor
