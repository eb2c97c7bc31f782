#pragma once
// A connection to the supervisor that can be impaired on purpose (net-delay and net-drop of
// `robustrun inject`): a SupervisorLink around another one, without effect until disturb() is
// called.
//
// No message is lost or reordered, because TCP would send it again. Held messages are delivered
// late and in order, or at once if kHeldMessagesMax messages are held. Both directions are treated
// alike. The inner connection still notices its own end and the supervisor's silence by itself.
// Used on the agent's loop.

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "agent/node/limits.h"
#include "agent/uplink/supervisor_link.h"
#include "base/io/timer.h"
#include "wire/messages/injection.h"

namespace robustrun::agent {

class DisturbedLink final : public SupervisorLink {
 public:
  using MakeLink = std::function<std::unique_ptr<SupervisorLink>(Handlers)>;
  // Calls `make` at once, with handlers that forward to `handlers`.
  DisturbedLink(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                Handlers handlers, const MakeLink& make);
  // kNetDrop: nothing passes for `duration`. kNetDelay: messages sent within `duration` arrive
  // `delay` later. A new disturbance replaces the current one, also for held messages.
  void disturb(wire::FaultKind kind, base::Nanos duration, base::Nanos delay);
  void send(const wire::Message& message) override { pass(true, message); }
  [[nodiscard]] bool congested() const override { return holds_much() || link_->congested(); }
  void set_limits(const Limits& limits) override { link_->set_limits(limits); }
  void begin_attempt(base::Attempt attempt, std::uint32_t ordered_by) override {
    link_->begin_attempt(attempt, ordered_by);
  }
  void note_progress() override { link_->note_progress(); }
  std::weak_ptr<wire::Channel> close() override;

 private:
  struct Held {
    base::Nanos due;
    bool out = false;
    wire::Message message;
  };
  [[nodiscard]] bool holds_much() const { return held_.size() >= kHeldMessagesCongested; }
  void pass(bool out, wire::Message message);
  void wait();
  void release();
  void deliver(bool out, wire::Message message);

  const base::Clock& clock_;
  Handlers handlers_;
  base::Timer timer_;
  std::unique_ptr<SupervisorLink> link_;
  base::Nanos until_{};  // of the disturbance
  std::optional<base::Nanos> delay_;  // none: a drop
  std::deque<Held> held_;  // by due time
  bool closed_ = false;
};

}  // namespace robustrun::agent
