#pragma once
// When has a worker been in one operation for longer than its history explains? One watch for each
// communicator of each worker, fed by whoever looks at it; pure, without a clock.
//
// The head is the oldest operation that is not finished. Allowed is four times the longest that
// heads of this communicator were seen to take lately, and at least two seconds. One that took
// longer teaches nothing: whether it was a checkpoint or a fault that passed is for who looks at
// all workers to know (supervisor/watch/hang_watch.h). The first operations of a communicator, and
// all before the first training step, may take ten seconds and are not learned from either:
// connections and compilers take their time.

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
    base::Nanos now{};            // of one clock for all looks
    std::uint64_t entered = 0;    // ordinals, as in Membership
    std::uint64_t done = 0;
    // Of the head, by the clock of its source, which may jump: believed only as far as the look
    // before allows. None: it began just now, as far as anybody knows.
    std::optional<base::Nanos> head_age{};
    bool has_stepped = false;  // the worker has done its first training step
  };
  struct Head {
    std::uint64_t ordinal = 0;  // 0: nothing is unfinished
    base::Nanos age{};
    base::Nanos expected{};  // what its history allows
    bool became_overdue = false;  // true once for a head
    std::uint64_t over = 0;  // ordinal of an overdue one that is finished after all; or 0
  };

  // Counts that run backwards are another communicator's: everything is forgotten.
  Head look(const Look& look);

 private:
  [[nodiscard]] base::Nanos allowed(bool has_stepped) const;
  // Takes leave of the head; returns its ordinal when it was overdue.
  std::uint64_t finish(const Look& look);

  std::optional<base::Nanos> last_look_;
  std::uint64_t entered_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t head_ = 0;  // ordinal; 0: none
  base::Nanos since_{};
  base::Nanos age_{};  // at the last look
  bool is_learned_ = false;  // its age will say something about others
  bool is_overdue_ = false;
  std::array<base::Nanos, kHeadsRemembered> ages_{};
  std::size_t next_age_ = 0;
};

}  // namespace robustrun::tracer
