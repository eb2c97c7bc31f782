#pragma once
// Detects that a worker has been in one operation for longer than its history explains. There is
// one watch for each communicator of each worker. Pure, without a clock.
//
// The head is the oldest unfinished operation. It is overdue after four times the longest duration
// of recent heads of this communicator, but not before two seconds have passed. An overdue head is
// not added to the history: only supervisor/watch/hang_watch.h, which sees all workers, can tell
// whether a checkpoint or a transient fault delayed it. The first operations of a communicator, and
// all operations before the first training step, may take ten seconds, because connections are set
// up and code is compiled then. They are not added to the history either.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/core/clock.h"
#include "tracer/limits.h"

namespace robustrun::tracer {

class HeadWatch {
 public:
  struct Look {
    base::Nanos now{};  // by the same clock for all looks
    std::uint64_t entered = 0;  // ordinals, as in Membership
    std::uint64_t done = 0;
    // The head's age by the clock of its source, which may jump. Used only when the head is first
    // seen, and cut to the time since the previous look. None: the head has begun now.
    std::optional<base::Nanos> head_age{};
    bool has_stepped = false;  // the worker has completed its first training step
  };
  struct Head {
    std::uint64_t ordinal = 0;  // 0: nothing is unfinished
    base::Nanos age{};
    base::Nanos expected{};  // the age that its history allows
    bool became_overdue = false;  // true once per head
    std::uint64_t over = 0;  // ordinal of an overdue head that has now finished; 0: none
  };

  // Takes one look and returns the state of the head. Counts that run backwards belong to another
  // communicator: the history is reset.
  Head look(const Look& look);

 private:
  [[nodiscard]] base::Nanos allowed(bool has_stepped) const;
  // Forgets the finished head. Returns its ordinal if it was overdue, otherwise 0.
  std::uint64_t finish(const Look& look);

  std::optional<base::Nanos> last_look_;
  std::uint64_t entered_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t head_ = 0;  // ordinal; 0: none
  base::Nanos since_{};
  base::Nanos age_{};  // at the last look
  bool is_learned_ = false;  // its duration will be added to the history
  bool is_overdue_ = false;
  std::array<base::Nanos, kHeadsRemembered> ages_{};
  std::size_t next_age_ = 0;
};

}  // namespace robustrun::tracer
