#pragma once
// Looks at the workers: asks the agents what their workers are doing (watch/observation.h), and has
// the answers analyzed.
//
// There is one look at all workers at a time. A request during a look gets that look's verdict. If
// the request needs evidence and the look has none, another look follows. A user's looks at stacks
// and the looks at all workers take turns, because an agent answers only the newest of such
// questions. Looks back at a failed attempt, and looks at what ranks use, may take place at the
// same time.
//
// Owned by the driver, on its loop.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/control/stacks_row.h"
#include "supervisor/control/view_rows.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/watch/observation.h"
#include "topo/network/parallel.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/analysis/verdict.h"
#include "tracer/ras_merge.h"

namespace robustrun::supervisor {

class WorkerLooks {
 public:
  struct Hands {
    std::function<base::Attempt()> attempt;  // the current one
    std::function<bool()> is_running;  // its workers run
    topo::Parallel parallel;  // names the groups of ranks in verdicts
    // The next two answer once, from the loop; null: nothing can be analyzed.
    std::function<void(tracer::FleetSnapshot, tracer::RasEvidence,
                       std::function<void(tracer::Verdict)>)>
        analyze{};
    std::function<void(tracer::FleetSnapshot, std::function<void(tracer::Verdict)>)>
        analyze_failed{};
  };
  // `nodes` outlives this object.
  WorkerLooks(boost::asio::any_io_executor executor, NodeTable& nodes, Hands hands);
  ~WorkerLooks() { drop(); }
  WorkerLooks(const WorkerLooks&) = delete;
  WorkerLooks& operator=(const WorkerLooks&) = delete;

  // Looks at all workers. `evidence`: stacks are collected, too, which are needed to judge hangs.
  // `done` gets null if the look had no result.
  using Done = std::function<void(const tracer::Verdict*)>;
  void look(bool evidence, Done done);
  // Looks at the workers of an attempt that has failed, before they are stopped. The question is
  // sent before the stop orders, and agents carry these out after their answer, as a stopped worker
  // cannot be looked at. `done` is not called after end().
  void look_back(const LookBack& action, std::function<void(tracer::Verdict)> done);
  // Asks only the rank's agent, which measures only when it is asked.
  void look_at_use(base::Rank rank, UseAnswer done);
  // nullopt: the stacks of all ranks. Waits for the look under way, and for looks at stacks that
  // were asked for before.
  void look_at_stacks(std::optional<base::Rank> rank, StacksAnswer done);

  void on_report(base::NodeId node, const wire::Observed& report);
  void on_report(base::NodeId node, wire::RasAnswer& answer);
  void on_agent_lost(base::NodeId node);
  // The run is over: look_back() gives no answer, and a look() that waits for agents has no result.
  void end() { ended_ = true; }
  // No answer is given any more.
  void drop();

 private:
  struct Waiter {
    bool evidence = false;
    Done done;
  };
  struct StacksWanted {
    std::optional<base::Rank> rank;
    StacksAnswer done;
  };
  void begin(bool evidence);
  // Unless one is under way, begins the look for waiters_, or else the next one at stacks.
  void begin_next();
  void begin_look();
  void begin_at_stacks(StacksWanted wanted);
  void analyze(tracer::FleetSnapshot fleet, wire::RasAnswer ras);
  void answer(const tracer::Verdict* verdict);
  [[nodiscard]] Observation::Plan plan(wire::Observe question) const;
  // Removes all other nodes from `asked`. Null: the rank does not run.
  [[nodiscard]] const Observation::Node* keep_node_of(base::Rank rank,
                                                      Observation::Plan& asked) const;
  void begin_for_user(Observation::Plan asked, std::function<void(tracer::FleetSnapshot)> done);
  [[nodiscard]] Observation::Hands hands_of(
      std::function<void(tracer::FleetSnapshot, wire::RasAnswer)> done);
  // Ranks of the attempt that `fleet` lacks.
  [[nodiscard]] std::vector<tracer::RankSnapshot> unseen(const tracer::FleetSnapshot& fleet) const;

  const boost::asio::any_io_executor executor_;
  NodeTable& nodes_;
  const Hands hands_;
  std::shared_ptr<Observation> look_, look_back_;  // under way, or null
  std::vector<std::shared_ptr<Observation>> user_looks_;  // at use and stacks, under way
  std::vector<Waiter> waiters_;  // for look_
  bool is_due_ = false;  // a look for waiters_ begins after the one at stacks
  bool is_at_stacks_ = false;  // one of user_looks_ is at stacks
  std::deque<StacksWanted> stacks_wanted_;  // not begun; at most kStacksWaitingMax
  bool has_evidence_ = false;  // look_ collects stacks
  std::uint64_t looks_begun_ = 0;
  bool ended_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // until drop()
};

}  // namespace robustrun::supervisor
