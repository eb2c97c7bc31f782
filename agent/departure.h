#pragma once
// What a signal to the agent means for its workers.
//
// Over a network this node leaves the run: the supervisor stops the workers of all nodes, so that
// they can save together, and starts nothing here any more. On one machine a signal often goes to
// all processes of a run (docker stop, systemd, the end of a CI job), so that the workers still
// have their time to save: the supervisor is told, and it knows whether the signal ends the run,
// and when. If it neither answers nor sends an order, the workers are stopped here. A second signal
// ends everything at once; on one machine, only a second SIGTERM or SIGINT before the answer.
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
  struct Hands {
    std::function<bool()> has_workers;  // the supervisor has welcomed us, so there may be some
    std::function<bool()> is_supervisor_gone;  // on one machine
    std::function<void(const wire::Message&)> send;  // to the supervisor
    std::function<void(int signal, base::Nanos grace)> stop_workers;
    std::function<void(std::function<void()> then)> when_gone;  // as WorkerSet::when_gone()
    std::function<void()> leave;  // ends everything at once
  };
  struct Times {
    base::Nanos answer_max = kAnswerMax;  // on one machine
    base::Nanos order_max = kStopOrderMax;  // over a network
  };
  // `node` outlives this object.
  Departure(const NodeContext& node, bool over_network, const Times& times, Hands hands);
  Departure(const Departure&) = delete;
  Departure& operator=(const Departure&) = delete;

  // After the welcome, SIGTERM means that Slurm will soon take the node back: the supervisor is
  // told, and we go on.
  void end_with_node() { ends_with_node_ = true; }
  // The time that the workers have to end if they are stopped here.
  void set_grace(base::Nanos grace) { grace_ = grace; }

  void signalled(int signal);
  // The supervisor is connected again, and may not know that the node ends.
  void tell_again();
  // The supervisor has the signal, and decides.
  void on_answer();
  void begin_attempt() { was_stopped_ = false; }
  // An order to stop has come. If it says SIGTERM, its workers get the signal that the agent got,
  // if any: a worker may handle SIGINT better than SIGTERM.
  void take(wire::StopWorkers& order);
  // True: the supervisor must not get this message, or not yet.
  [[nodiscard]] bool withholds(const wire::Message& message);
  void cancel();

  // The signal that made us leave; 0: none.
  [[nodiscard]] int left_by() const { return left_by_; }
  // The attempt's workers were stopped by an order.
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
  wire::NodeEnding ending_;  // sent on every connection unless its reason is empty
  int left_by_ = 0;
  bool was_stopped_ = false;
  bool is_alone_ = false;  // the supervisor lives, but has not answered the signal
  std::vector<wire::Message> held_exits_;  // of workers while alone
  base::Timer order_awaited_;
};

}  // namespace robustrun::agent
