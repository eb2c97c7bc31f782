#include "agent/departure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "base/core/exit_status.h"

namespace robustrun::agent {

Departure::Departure(const NodeContext& node, bool over_network, const Times& times, Hands hands)
    : node_(node),
      over_network_(over_network),
      times_(times),
      hands_(std::move(hands)),
      order_awaited_(node.executor) {}

void Departure::cancel() { order_awaited_.cancel(); }

void Departure::signalled(int signal) {
  if (!over_network_) {
    pass_on(signal);
  } else if (signal == SIGTERM && ends_with_node_ && hands_.has_workers()) {
    ending_ = {"Slurm sent SIGTERM to its agent (preemption, time limit or scancel)", 0};
    tell_again();
  } else {
    depart(signal);
  }
}

void Departure::tell_again() {
  if (!ending_.why.empty()) hands_.send(ending_);
}

// Only if the supervisor does not answer, SIGTERM and SIGINT end the workers here.
void Departure::pass_on(int signal) {
  const bool ends_alone = signal == SIGTERM || signal == SIGINT;
  if (hands_.is_supervisor_gone() || (ends_alone && (left_by_ != 0 || !hands_.has_workers()))) {
    return hands_.leave();
  }
  hands_.send(wire::StopRun{signal, {}, "its agent"});
  if (!ends_alone) return;
  left_by_ = signal;
  if (was_stopped_) return;
  await_order(times_.answer_max, [this] {
    is_alone_ = true;
    hands_.when_gone([this] {
      if (is_alone_) hands_.leave();
    });
  });
}

void Departure::on_answer() {
  if (over_network_ || is_alone_) return;
  left_by_ = 0;
  cancel();
}

// Stops the workers if no order comes; calls `on_none` first.
void Departure::await_order(base::Nanos max, std::function<void()> on_none) {
  order_awaited_.after(max, [this, on_none = std::move(on_none)] {
    if (was_stopped_ || left_by_ == 0) return;  // the order came just before
    on_none();
    hands_.stop_workers(left_by_, grace_);
  });
}

void Departure::depart(int signal) {
  if (left_by_ != 0) return hands_.leave();
  left_by_ = signal;
  if (!hands_.has_workers()) return hands_.leave();
  ending_ = {
      (node_.own_command ? "its command got " : "its agent got ") + base::signal_name(signal),
      signal};
  tell_again();
  if (node_.own_command) {
    const std::string line = fmt::format(
        "robustrun: {}: this node leaves the run; its workers get the signal, too, and have {} "
        "s\n",
        base::signal_name(signal), std::chrono::ceil<std::chrono::seconds>(grace_).count());
    static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) == 0);
  }
  hands_.when_gone([this] { hands_.leave(); });
  await_order(times_.order_max, [] {});
}

void Departure::take(wire::StopWorkers& order) {
  was_stopped_ = true;
  if (left_by_ != 0) cancel();
  is_alone_ = false;
  for (const wire::Message& exit : std::exchange(held_exits_, {})) hands_.send(exit);
  if (left_by_ != 0 && order.signal == SIGTERM) order.signal = left_by_;
}

// Workers that the agent has stopped by itself have not done their work, whatever their exit codes
// say. A later stop order is answered by WorkersGone.
bool Departure::withholds(const wire::Message& message) {
  if (!is_alone_) return false;
  if (std::holds_alternative<wire::WorkerExited>(message)) held_exits_.push_back(message);
  return std::holds_alternative<wire::WorkersGone>(message) ||
         std::holds_alternative<wire::WorkerExited>(message);
}

}  // namespace robustrun::agent
