#pragma once
// What the agent does with its workers when it gets a signal that asks it to end.
//
// Over a network, this node leaves the run: the agent tells the supervisor, which stops the workers
// of all nodes, so that they can save together, and starts nothing on this node any more. If no
// stop order comes, the agent stops its workers itself. A second signal kills everything at once.
//
// On one machine, the signal often goes to all processes of a run (docker stop, systemd, the end of
// a CI job). The agent passes it on to the supervisor, which decides whether and when the run ends.
// After SIGTERM or SIGINT, if the supervisor neither answers nor sends a stop order, the agent
// stops its workers itself. A second SIGTERM or SIGINT before the answer kills everything at once.
//
// Owned by the NodeAgent, on its loop.

#include <functional>
#include <memory>
#include <vector>

#include "agent/node/limits.h"
#include "agent/node/node_context.h"
#include "base/core/clock.h"
#include "base/io/timer.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class Departure {
 public:
  // Functions of the agent that this object calls.
  struct Hands {
    std::function<bool()> has_workers;  // the supervisor has welcomed the agent: some may exist
    std::function<bool()> is_supervisor_gone;  // asked on one machine only
    std::function<void(const wire::Message&)> send;  // to the supervisor
    std::function<void(int signal, base::Nanos grace)> stop_workers;
    // Calls `then` once WorkersGone of the current attempt is sent; without an attempt, soon.
    std::function<void(std::function<void()> then)> when_gone;
    std::function<void()> leave;  // kills everything at once
  };
  struct Times {
    base::Nanos answer_max = kAnswerMax;  // on one machine: wait for the supervisor's answer
    base::Nanos order_max = kStopOrderMax;  // over a network: wait for a stop order
  };
  // `node` outlives this object.
  Departure(const NodeContext& node, bool over_network, const Times& times, Hands hands);
  Departure(const Departure&) = delete;
  Departure& operator=(const Departure&) = delete;

  // From now on, SIGTERM after the welcome means that Slurm will soon take the node back: the
  // supervisor is told, and the agent goes on.
  void end_with_node() { ends_with_node_ = true; }
  // The time that the workers have to end if the agent stops them itself.
  void set_grace(base::Nanos grace) { grace_ = grace; }

  // The agent has got `signal`.
  void signalled(int signal);
  // Call after a new connection: if this node ends, tells the supervisor so again.
  void tell_again();
  // The supervisor has answered the signal that was passed on to it.
  void on_answer();
  void begin_attempt() { was_stopped_ = false; }
  // A stop order has come. A signal that the agent got replaces SIGTERM in `order`: a script may
  // handle SIGINT better than SIGTERM.
  void take(wire::StopWorkers& order);
  // True: `message` must not be sent. Exits of workers are kept and sent when a stop order comes.
  [[nodiscard]] bool withholds(const wire::Message& message);
  void cancel();

  // The signal that made this node leave; 0: none.
  [[nodiscard]] int left_by() const { return left_by_; }
  // The supervisor has ordered the attempt's workers to stop.
  [[nodiscard]] bool was_stopped() const { return was_stopped_; }

 private:
  void pass_on(int signal);
  void depart(int signal);
  void await_order(base::Nanos max, std::function<void()> on_none);

  const NodeContext& node_;
  const bool over_network_;
  const Times times_;
  const Hands hands_;
  bool ends_with_node_ = false;
  base::Nanos grace_{};
  wire::NodeEnding ending_;  // sent on every connection if its `why` is not empty
  int left_by_ = 0;
  bool was_stopped_ = false;
  bool is_alone_ = false;  // the supervisor has not answered the signal in time
  std::vector<wire::Message> held_exits_;  // of workers while is_alone_
  base::Timer order_awaited_;
};

}  // namespace robustrun::agent
