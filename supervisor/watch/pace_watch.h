#pragma once
// Whether a group does its steps more slowly than it used to. Pure; the caller gives the time.
//
// Steps are counted in windows. A window is slow if its mean time per step is more than
// kPaceSlowerPerCent per cent longer than the median of the windows before. The group is slow after
// several slow windows in a row. (Mycroft, arXiv 2509.03018 section 4.3, waits until the time has
// doubled; GREYHOUND takes 10 %.)

#include <cstdint>
#include <deque>

#include "base/core/clock.h"

namespace robustrun::supervisor {

class PaceWatch {
 public:
  // The furthest worker has done `steps` steps. Fewer than before: another attempt has begun.
  void note(std::uint64_t steps, base::Nanos now);
  [[nodiscard]] bool is_slow() const { return slow_windows_ >= kWindowsInRow; }
  // The slowness was examined: the current pace is the group's usual pace from now on.
  void accept();
  // Time per step in the newest window.
  [[nodiscard]] base::Nanos period() const { return newest_; }
  // Time per step before the group became slow; 0 if it is not slow. After accept() the group still
  // counts as slow here, for kPaceWindowsKept windows.
  [[nodiscard]] base::Nanos usual() const;
  // Returns true once when an accepted slower pace has ended.
  bool take_recovery();

 private:
  static constexpr int kWindowsInRow = 3;
  void close_window(base::Nanos period);

  std::uint64_t steps_ = 0;  // when the window began
  base::Nanos began_{};
  std::deque<base::Nanos> periods_;  // of windows that were not slow, oldest first
  std::deque<base::Nanos> before_;  // those before a slower pace was accepted; mostly empty
  base::Nanos newest_{};
  bool recovered_ = false;
  int slow_windows_ = 0;  // in a row, until now
};

}  // namespace robustrun::supervisor
