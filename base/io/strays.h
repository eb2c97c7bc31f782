#pragma once
// For a process that adopts orphans (a subreaper): ends what dead children of ours left behind.
//
// A child of this process that is not in `known`, and was not there before become_subreaper(), is
// an orphan. It and its whole tree get SIGKILL and are reaped; known children are neither
// signalled nor reaped, and nothing that is not our descendant is ever signalled: a direct child
// keeps its pid until we reap it, deeper ones are signalled through a pidfd after their line of
// parents was checked. A tree that keeps forking is frozen (SIGSTOP) from the top before it is
// killed. No heap, no exceptions: the shim, whose children are all orphans in the end, is built
// from the same file. PR_SET_CHILD_SUBREAPER(2const), pidfd_send_signal(2).

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <span>

#include "base/core/clock.h"

namespace robustrun::base {

// Orphans of our children come to this process from now on. Children that it already has (a shell
// that started them before exec) are not ours to kill and are left alone for ever.
void become_subreaper();

// A child of ours that is no orphan though no launcher knows it: a short helper program, on
// whatever thread (base/io/tool.h). Made before the child is, it holds sweeps back until is() says
// which one it is; from then to its end they leave that one alone. Beyond kSparedMax at a time
// there is no protection.
inline constexpr std::size_t kSparedMax = 32;
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
  kDone,   // no orphan is left
  kAgain,  // some are still dying: call again after a few milliseconds or a SIGCHLD
  kStuck,  // given up: what is left does not die (uninterruptible sleep) or outruns us
};

inline constexpr std::chrono::seconds kStrayStuckAfter{2};    // without one death
inline constexpr std::chrono::seconds kStrayGiveUpAfter{30};  // in spite of deaths

class StrayKiller {
 public:
  // Told of every child that a sweep reaps.
  struct ReapSink {
    virtual void reaped(const siginfo_t& info) = 0;

   protected:
    ~ReapSink() = default;
  };

  // One bounded piece of work that never waits: below 1 ms for ordinary trees, some 10 ms for a
  // fork bomb of a thousand processes. kDone and kStuck start a new count of time.
  StraySweep sweep(std::span<const pid_t> known, Nanos now, ReapSink* sink = nullptr);

  // Reaped so far that had died of SIGKILL.
  [[nodiscard]] unsigned killed() const { return killed_; }
  // After kStuck: one of those that are left.
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

// The same with one StrayKiller for the whole process, for callers that need the outcome alone.
inline StraySweep kill_strays(std::span<const pid_t> known) {
  static StrayKiller killer;
  return killer.sweep(known, SystemClock().now());
}

}  // namespace robustrun::base
