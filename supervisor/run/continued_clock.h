#pragma once
// The clock of a run. After a takeover it continues the times in the journal, so that they rise
// across hosts and reboots.

#include <algorithm>

#include "base/core/clock.h"

namespace robustrun::supervisor {

class ContinuedClock final : public base::Clock {
 public:
  // `ahead`: how far now() is ahead of the machine's own clock.
  explicit ContinuedClock(base::Nanos ahead = {}) : ahead_(ahead) {}
  [[nodiscard]] base::Nanos now() const override { return system_.now() + ahead_; }
  [[nodiscard]] base::Nanos wall_time() const override { return system_.wall_time(); }
  [[nodiscard]] base::Nanos ahead() const { return ahead_; }

 private:
  base::SystemClock system_;
  base::Nanos ahead_;
};

// How far a ContinuedClock must be ahead of the machine's clock. `last`: time of the journal's last
// entry; `last_wall`: Unix time of that entry. On the same boot the journal's times are the
// machine's. Otherwise only wall clocks tell how much time has passed since that entry; a negative
// difference counts as none.
inline base::Nanos clock_ahead(bool same_boot, base::Nanos last, base::Nanos last_wall,
                               const base::Clock& machine) {
  if (same_boot && machine.now() >= last) return {};
  const base::Nanos away = std::max(base::Nanos{}, machine.wall_time() - last_wall);
  return last + away - machine.now();
}

}  // namespace robustrun::supervisor
