#pragma once
// Versions of the run: requested, used, proven by progress, or given up.
//
// An attempt gets its version when its workers are started. If workers fail before they make
// progress, with a version that has made none in any attempt, then that version is to blame: the
// run goes back to an older version. A lost agent, a hang or broken hardware tells nothing about a
// version. Restarts for an update, and restarts that go back, do not count against the budget: the
// user asked for the update, and each return leaves fewer versions to try.

#include <string>

#include "supervisor/core/fault/fault.h"
#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/types/versions.h"

namespace robustrun::supervisor {

class Updates {
 public:
  Updates(Orders& orders, const Group& group, const AttemptProgress& progress, Transitions& moves)
      : orders_(orders), group_(group), progress_(progress), moves_(moves) {}

  void begin_run() { versions_.all.emplace_back().asked_at = orders_.now(); }
  void requested(const Event& event);
  // Sets the version of the attempt that begins. True: the attempt before had another version.
  bool use_next();
  void note_progress();
  // When the running attempt is restarted for the version that waits; kNever: at no time.
  [[nodiscard]] base::Nanos due_at() const;
  void restart_if_due();
  [[nodiscard]] const Versions& versions() const { return versions_; }

  [[nodiscard]] bool is_to_blame(const Outage& outage) const;
  void note_failed() { versions_.all[versions_.present].failed = true; }
  // Whether a step of the ladder may go back: another version has made progress, and the next
  // attempt would get the present one.
  [[nodiscard]] bool can_roll_back() const;
  // Gives the present version up for Versions::older(false), which must exist.
  void roll_back(const Outage& outage);

  template <class V>
  void fields(V& v) {
    v(50, "versions", versions_);
  }

 private:
  void restart(const std::string& why);

  Orders& orders_;
  const Group& group_;
  const AttemptProgress& progress_;
  Transitions& moves_;
  Versions versions_;
};

}  // namespace robustrun::supervisor
