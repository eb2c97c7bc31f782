#pragma once
// For a process that adopts orphans (a subreaper): kills the processes that dead children left
// behind.
//
// A child of this process is an orphan unless it is in `known`, is a SparedChild, or was there
// before become_subreaper(). Orphans and their whole trees get SIGKILL and are reaped. Known
// children are neither signalled nor reaped. No signal reaches a process that has taken over a pid:
// a direct child keeps its pid, and a dead one its process group's number, until this process reaps
// it; a deeper process is signalled through a pidfd after its ancestry was checked. A tree that
// keeps forking is stopped (SIGSTOP) from the top before it is killed. The code uses no heap and no
// exceptions, because the shim is built from the same file.
// See PR_SET_CHILD_SUBREAPER(2const), pidfd_send_signal(2).

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <span>

#include "base/core/clock.h"

namespace robustrun::base {

// From now on orphaned descendants are reparented to this process. Children that it already has (a
// shell started them before its exec) are never killed.
void become_subreaper();

inline constexpr std::size_t kSparedMax = 32;

// Protects a short helper program, which any thread may start (base/io/tool.h), from sweeps.
// Construct a SparedChild before starting the program: sweeps kill nothing until is() names its
// pid, and spare that pid until the SparedChild is destroyed. Beyond kSparedMax at a time there is
// no protection.
class SparedChild {
 public:
  SparedChild();
  ~SparedChild();
  SparedChild(const SparedChild&) = delete;
  SparedChild& operator=(const SparedChild&) = delete;
  void is(pid_t pid);

 private:
  std::size_t slot_;
};

enum class StraySweep {
  kDone,  // no orphan is left
  kAgain,  // some are still dying: call again after a few milliseconds or a SIGCHLD
  kStuck,  // given up: the rest does not die (uninterruptible sleep) or forks too fast
};

inline constexpr std::chrono::seconds kStrayStuckAfter{2};  // kStuck: no death for this long
inline constexpr std::chrono::seconds kStrayGiveUpAfter{30};  // kStuck: in any case

class StrayKiller {
 public:
  // Receives every child that a sweep reaps.
  struct ReapSink {
    virtual void reaped(const siginfo_t& info) = 0;

   protected:
    ~ReapSink() = default;
  };

  // Does one bounded piece of work and never waits: below 1 ms for ordinary trees, about 10 ms for
  // a fork bomb of a thousand processes. `now`: monotonic. After kDone or kStuck the next call
  // starts a new sweep.
  StraySweep sweep(std::span<const pid_t> known, Nanos now, ReapSink* sink = nullptr);

  // Number of reaped processes that SIGKILL ended, over all sweeps.
  [[nodiscard]] unsigned killed() const { return killed_; }
  // After kStuck: one of the processes that are left.
  [[nodiscard]] pid_t survivor() const { return survivor_; }

 private:
  struct Pass {
    unsigned alive = 0;
    unsigned reaped = 0;
  };
  Pass kill_children(std::span<const pid_t> known, ReapSink* sink);
  StraySweep finish(StraySweep outcome);

  bool running_ = false;
  Nanos started_{};
  Nanos last_death_{};
  unsigned sweeps_ = 0;
  unsigned killed_ = 0;
  pid_t survivor_ = 0;
};

// StrayKiller::sweep() with one StrayKiller for the whole process, for callers that need only the
// outcome.
inline StraySweep kill_strays(std::span<const pid_t> known) {
  static StrayKiller killer;
  return killer.sweep(known, SystemClock().now());
}

}  // namespace robustrun::base
