#pragma once
// What Slurm tells about the job. Slurm's SIGTERM reaches the agents, or us through a batch script,
// without a reason. So Slurm is asked for the reason before the run ends, as workers, exit code and
// report need it. Slurm is also asked now and then what it plans for the nodes.
//
// Owned by the driver, on its loop. Slurm may be slow or gone: the run never depends on it.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/timer.h"
#include "launcher/slurm/node_states.h"
#include "launcher/slurm/notice.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

class SlurmSide {
 public:
  struct Hands {
    // Ask Slurm why it signals the job, and what it plans for the nodes; each answers once, from
    // the loop. Null without Slurm.
    std::function<void(std::function<void(launcher::SlurmNotice)>)> ask_why{};
    std::function<void(std::function<void(base::Result<std::vector<launcher::SlurmNodeState>>)>)>
        ask_states{};
    std::function<void(SignalReceived)> on_signal{};
    // JobEnd::timed_save and JobEnd::time_to_save
    std::function<std::string(base::Nanos end)> timed_save{};
    std::function<base::Nanos(base::Nanos end)> time_to_save{};
    // What Slurm plans for the node, as far as the core knows; empty: nothing.
    std::function<std::string(base::NodeId)> drained{};
    std::function<void(NodeHealth, base::NodeId)> on_health{};
  };
  // `poll`: how often Slurm is asked about the nodes; 0: never. `nodes` outlives this object.
  SlurmSide(const boost::asio::any_io_executor& executor, const NodeTable& nodes, base::Nanos poll,
            Hands hands);

  // Whether a SIGTERM may be Slurm's.
  [[nodiscard]] bool may_signal() const { return hands_.ask_why != nullptr; }
  // A process of the run got SIGTERM. Every agent and the batch script report each SIGTERM; Slurm
  // sends another one at the end of the grace period. Only the first report counts, unless Slurm
  // denies that it signalled. If a timed save is still to come (JobEnd), the first warning of the
  // time limit is logged and has no other effect.
  void signalled();
  // The run already ends at its time limit. From now on signals and answers of Slurm are ignored,
  // as a second signal would kill workers that save.
  void note_end() { is_over_ = true; }
  void watch_nodes();
  void end();

 private:
  void on_notice(const launcher::SlurmNotice& notice);
  void on_states(const base::Result<std::vector<launcher::SlurmNodeState>>& told);

  const NodeTable& nodes_;
  const base::Nanos poll_;
  const Hands hands_;
  bool is_asked_ = false;  // further reports are ignored
  bool is_over_ = false;  // note_end() was called
  bool was_warned_ = false;  // of the time limit
  bool is_silent_ = false;  // it was logged that Slurm does not tell the nodes' states
  base::Timer timer_;
  std::shared_ptr<bool> goes_on_ = std::make_shared<bool>(true);  // until end()
};

}  // namespace robustrun::supervisor
