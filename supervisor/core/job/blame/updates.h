#pragma once
// Versions of the run: requested, used, proven by progress, or given up.
//
// An attempt gets its version when its workers are started. A version that has not made progress in
// any attempt is to blame when its workers fail before they make any: the run goes back to an older
// one. A lost agent, a hang or broken hardware says nothing about a version. Neither the restart
// for an update nor this one counts against the budget: an update is the user's wish, and each
// version is given up at most once.

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
  // The attempt that begins gets its version; true: another one than the attempt before.
  bool use_next();
  void note_progress();
  [[nodiscard]] const Versions& versions() const { return versions_; }

  [[nodiscard]] bool is_to_blame(const Outage& outage) const;
  void note_failed() { versions_.all[versions_.present].failed = true; }
  [[nodiscard]] bool can_roll_back() const;
  // To Versions::older(false), which must exist.
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
