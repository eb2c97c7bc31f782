#pragma once
// The wait before a restart. kBackoff lasts until the back-off is over and the answers have come
// that the next attempt needs: a checkpoint is set aside, copies of lost nodes are saved.

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

  // Waits, and then joins the agents; without a wait at once.
  void begin(base::Nanos delay);
  // An infrastructure fault while no worker runs.
  void setback(Rule rule, std::string text);
  // The back-off is over now.
  void hurry();
  // The end of the back-off.
  [[nodiscard]] base::Nanos until() const { return until_; }
  [[nodiscard]] bool awaits_answers() const;
  // A node was lost in kBackoff: it may owe an answer, or have copies elsewhere. `waited`:
  // awaits_answers() before that.
  void node_lost(base::NodeId node, bool waited);

  void over(const Event& event);
  void held_copies_saved(const Event& event);
  void checkpoint_demoted(const Event& event);
  void saving_over(const Event& event);  // in any state

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
