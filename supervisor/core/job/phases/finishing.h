#pragma once
// Orders to end the run, and the end itself. kFinishing is like kStopping, but afterwards the
// agents are dismissed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/run.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/nodes/agents.h"
#include "supervisor/core/job/phases/stop_orders.h"
#include "supervisor/core/job/saves/copies.h"

namespace robustrun::supervisor {

class Finishing {
 public:
  Finishing(Orders& orders, const Run& run, const Nodes& nodes, Workers& workers, Copies& copies,
            Agents& agents, StopOrders& stops)
      : orders_(orders),
        run_(run),
        nodes_(nodes),
        workers_(workers),
        copies_(copies),
        agents_(agents),
        stops_(stops) {}

  void give_up(std::string text, std::vector<std::string> evidence, std::optional<int> exit_code);
  // Ends the run as `how` says. Workers that run get `signal`, and are killed after `grace`. A stop
  // under way keeps its deadline if that is sooner.
  void end_run(Ending how, int signal, base::Nanos grace);
  // Ends the run at once. Requires that nothing of the attempt is left.
  void finish(Ending how);
  void finish_if_gone();
  // Dismisses all agents and orders Finish. Called again after a takeover.
  void order_end();
  // The reason that the stop order gives to workers.
  [[nodiscard]] StopReason reason() const;

  void signal(const Event& event);
  void signal_again(const Event& event);  // while the run is ending
  void user_signal(const Event& event);
  void time_limit(const Event& event);
  void step_goal(const Event& event);
  void worker_exited(const Event& event);
  void workers_gone(const Event& event);
  void overdue(const Event& event);

  template <class V>
  void fields(V& v) {
    v(23, "end_signals", end_signals_);
    v(24, "ending", ending_);
  }

 private:
  [[nodiscard]] Ending ending_of(const SignalReceived& received) const;
  void finish();

  Orders& orders_;
  const Run& run_;
  const Nodes& nodes_;
  Workers& workers_;
  Copies& copies_;
  Agents& agents_;
  StopOrders& stops_;
  std::uint32_t end_signals_ = 0;
  Ending ending_;
};

}  // namespace robustrun::supervisor
