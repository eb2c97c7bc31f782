#pragma once
// Turns stop orders, and signals to this process, to agents and to workers' parents, into events
// for the core. A signal to all processes of a run arrives here in several ways. Only the first
// arrival counts, as a second signal would kill the workers. The same holds for a signal of the
// batch system to all processes of a job, which the batch script passes on to us once more.
//
// Owned by the driver, on its loop.

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/types/events.h"
#include "supervisor/driver/slurm_side.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {

class EndSignals {
 public:
  struct Hands {
    std::function<bool()> is_ending;  // the run ends already, or is over
    std::function<bool()> is_over;
    // A Slurm job of its own brought this node (--replace). When that job ends, the run goes on
    // without the node.
    std::function<bool(base::NodeId)> ends_alone;
    // The core knows that Slurm will take this node away, also from our predecessor's time.
    std::function<bool(base::NodeId)> is_node_ending;
    std::function<void(EventBody, base::NodeId)> on_event;
  };
  struct Signals {
    const std::vector<int>& end;  // signals that end the run
    const BatchSignals& batch;
  };
  // The references outlive this object.
  EndSignals(const base::Clock& clock, NodeTable& nodes, SlurmSide& slurm, Signals signals,
             Hands hands);

  // This process got a signal. `forward_only`: the signal is sent to the workers; otherwise it ends
  // the run.
  void received(int signal, bool forward_only);
  // `robustrun stop` on another machine.
  void on_stop(const wire::StopRun& order);
  // A worker sent a signal to its parent, as scripts do to end the launcher, or an agent got a
  // signal.
  void on_report(base::NodeId node, const wire::StopRun& order);
  void on_report(base::NodeId node, wire::NodeEnding& ending);
  // An agent whose node ends reports that again on each new connection: no new signal.
  void on_connected_again(base::NodeId node);

 private:
  [[nodiscard]] bool was_relayed(int signal);
  [[nodiscard]] bool is_warning(int signal) const;
  [[nodiscard]] bool was_passed_on(int signal);
  // SIGTERM came to the node, or to this process (nullopt). Asks Slurm why, unless the signal has
  // been reported already by others that got it.
  void ask_slurm(std::optional<base::NodeId> signalled);

  const base::Clock& clock_;
  NodeTable& nodes_;
  SlurmSide& slurm_;
  const Signals signals_;
  const Hands hands_;
  int relayed_ = 0;  // the last signal that an agent reported and that ends the run; 0: none
  base::Nanos relayed_at_{};
  std::set<std::pair<base::NodeId, base::Generation>> repeating_;  // agents that will report again
  // What has reported Slurm's last signal: nodes; nullopt: this process got it.
  std::set<std::optional<base::NodeId>> told_by_;
  base::Nanos told_at_{};  // when the first of them did
  bool was_signalled_ = false;  // this process got a signal that ends the run
  std::optional<base::Nanos> batch_at_;  // the last signal that the batch system may have sent
};

}  // namespace robustrun::supervisor
