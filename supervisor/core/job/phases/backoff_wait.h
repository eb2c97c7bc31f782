#pragma once
// The wait before a restart. kBackoff lasts until the back-off is over and the next attempt has the
// answers that it needs: that a checkpoint is set aside, and that the copies of lost nodes are
// saved. Answers that do not come in time are not awaited any more.

#include <string>

#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/nodes/agents.h"
#include "supervisor/core/job/phases/start_orders.h"
#include "supervisor/core/job/saves/checkpoints.h"
#include "supervisor/core/job/saves/copies.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class BackoffWait {
 public:
  BackoffWait(Orders& orders, const JobSpec& spec, Copies& copies, Checkpoints& checkpoints,
              Agents& agents, Restarts& restarts, StartOrders& starts, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        copies_(copies),
        checkpoints_(checkpoints),
        agents_(agents),
        restarts_(restarts),
        starts_(starts),
        moves_(moves) {}

  // → kBackoff, and then → kJoining; at once → kJoining if there is nothing to wait for.
  void begin(base::Nanos delay);
  // An infrastructure fault while no worker runs: the run waits, or ends if no restart is left.
  void setback(Rule rule, std::string text);
  // The back-off ends now. Answers are still awaited.
  void hurry();
  // Another supervisor takes over in kBackoff: the time for answers begins again once the agents
  // have found it.
  void await_again();
  // The end of the back-off.
  [[nodiscard]] base::Nanos until() const { return until_; }
  [[nodiscard]] bool awaits_answers() const;
  // A node was lost in kBackoff: it may owe an answer, or keep copies of others. `waited`:
  // awaits_answers() before the loss.
  void node_lost(base::NodeId node, bool waited);

  void over(const Event& event);
  void held_copies_saved(const Event& event);
  void checkpoint_demoted(const Event& event);
  void saving_over(const Event& event);  // in every state until the run ends

  template <class V>
  void fields(V& v) {
    v(32, "backoff_until", until_);
    v(72, "answers_until", answers_until_);
  }

 private:
  void arm();
  void go_on_if_ready();

  Orders& orders_;
  const JobSpec& spec_;
  Copies& copies_;
  Checkpoints& checkpoints_;
  Agents& agents_;
  Restarts& restarts_;
  StartOrders& starts_;
  Transitions& moves_;
  base::Nanos until_{};
  base::Nanos answers_until_{};  // deadline for the answers
};

}  // namespace robustrun::supervisor
