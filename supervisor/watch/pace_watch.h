#pragma once
// Whether a group does its steps more slowly than it used to: pure, the caller gives the time.
//
// Steps are counted in windows, whose mean period is compared with the median of those before: the
// trigger for slowness (Mycroft doubles the interval, arXiv 2509.03018 section 4.3; GREYHOUND takes
// 10 %; ours lies between, and asks for several windows in a row).

#include <cstdint>
#include <deque>

#include "base/core/clock.h"

namespace robustrun::supervisor {

class PaceWatch {
 public:
  // The furthest worker has done `steps` steps by now. Fewer than before: another attempt.
  void note(std::uint64_t steps, base::Nanos now);
  [[nodiscard]] bool is_slow() const { return slow_windows_ >= kWindowsInRow; }
  // The slowness was examined: the present pace is the group's pace from now on.
  void accept();
  // Duration of a step in the newest window; and before the group became slow, 0 when it is not
  // slow. A slower pace that was accepted counts as slow for kPaceWindowsKept windows.
  [[nodiscard]] base::Nanos period() const { return newest_; }
  [[nodiscard]] base::Nanos usual() const;
  // Returns true once when a slower pace that was accepted has ended.
  bool take_recovery();

 private:
  static constexpr int kWindowsInRow = 3;
  void close_window(base::Nanos period);

  std::uint64_t steps_ = 0;  // when the window began
  base::Nanos began_{};
  std::deque<base::Nanos> periods_;  // of windows that were not slow, oldest first
  std::deque<base::Nanos> before_;  // likewise, before a slower pace was accepted; mostly empty
  base::Nanos newest_{};
  bool recovered_ = false;
  int slow_windows_ = 0;  // in a row, until now
};

}  // namespace robustrun::supervisor
