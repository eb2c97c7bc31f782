#pragma once
// Dual-phase replay as a step of the policy: kReplaying lasts from the first ReplayNodes until the
// last wave of groups is over (preflight/replay.h). The faulty machines are evicted, if the run can
// do without them.

#include <cstdint>
#include <string>

#include "supervisor/core/job/facts/group_choice.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/nodes/evictions.h"
#include "supervisor/core/job/phases/checking.h"
#include "supervisor/core/preflight/replay.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Replaying {
 public:
  Replaying(Orders& orders, const JobSpec& spec, const Nodes& nodes, Evictions& evictions,
            Checking& checking, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        evictions_(evictions),
        checking_(checking),
        moves_(moves) {}

  // Makes a replay due before the next attempt, as the cause of the outage is not clear. `why`:
  // what the outage looks like.
  void want(const std::string& why);
  [[nodiscard]] bool is_due() const { return is_due_; }
  // Replays the nodes that would run the next attempt: → kReplaying. False: there are too few
  // nodes.
  bool begin(const GroupChoice& choice);
  void send_wave();  // orders the present wave; may be called again
  void replayed(const Event& event);
  void overdue(const Event& event);

  template <class V>
  void fields(V& v) {
    v(60, "replay_due", is_due_);
    v(61, "replay", newest_);
    v(62, "replay_course", course_);
  }

 private:
  void go_on();

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  Evictions& evictions_;
  Checking& checking_;
  Transitions& moves_;
  bool is_due_ = false;  // a replay of the group's nodes, before the next attempt
  std::uint64_t newest_ = 0;  // number of the newest ReplayNodes; 0: none
  ReplayCourse course_;
};

}  // namespace robustrun::supervisor
