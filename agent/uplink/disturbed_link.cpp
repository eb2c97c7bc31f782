#include "agent/uplink/disturbed_link.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <optional>
#include <utility>

#include "agent/node/limits.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;

class DisturbedLinkImpl final : public DisturbedLink {
 public:
  DisturbedLinkImpl(const asio::any_io_executor& executor, const base::Clock& clock,
                    Handlers handlers)
      : clock_(clock), handlers_(std::move(handlers)), timer_(executor) {}

  void attach(const MakeLink& make) {
    link_ = make({[this](wire::Message message) { pass(false, std::move(message)); },
                  [this] {
                    if (!holds_much()) handlers_.on_drained();
                  },
                  handlers_.on_given_up});
  }

  void disturb(wire::FaultKind kind, base::Nanos duration, base::Nanos delay) override {
    const base::Nanos now = clock_.now();
    until_ = now + duration;
    delay_.reset();
    if (kind == wire::FaultKind::kNetDelay) delay_ = delay;
    // Held messages follow the new disturbance, too: nothing passes during a drop, and the end of a
    // longer, earlier drop is forgotten.
    for (Held& held : held_) held.due = delay_ ? std::min(held.due, now + *delay_) : until_;
    if (!held_.empty()) wait();
  }

  void send(const wire::Message& message) override { pass(true, message); }
  [[nodiscard]] bool congested() const override { return holds_much() || link_->congested(); }
  void set_limits(const Limits& limits) override { link_->set_limits(limits); }
  void begin_attempt(base::Attempt attempt, std::uint32_t ordered_by) override {
    link_->begin_attempt(attempt, ordered_by);
  }
  void note_progress() override { link_->note_progress(); }
  std::weak_ptr<wire::Channel> close() override {
    closed_ = true;
    timer_.cancel();
    for (const Held& held : held_) {
      if (held.out) link_->send(held.message);
    }
    held_.clear();
    return link_->close();
  }

 private:
  struct Held {
    base::Nanos due;
    bool out = false;
    wire::Message message;
  };

  [[nodiscard]] bool holds_much() const { return held_.size() >= kHeldMessagesCongested; }

  void pass(bool out, wire::Message message) {
    const base::Nanos now = clock_.now();
    const bool disturbed = now < until_;
    if (closed_ || (!disturbed && held_.empty())) return deliver(out, std::move(message));
    base::Nanos due = now;
    if (disturbed) due = delay_ ? now + *delay_ : until_;
    if (!held_.empty()) due = std::max(due, held_.back().due);
    held_.push_back({due, out, std::move(message)});
    // Enough: the held messages are sent.
    if (held_.size() >= kHeldMessagesMax) until_ = base::Nanos{};
    if (held_.size() == 1 || held_.size() >= kHeldMessagesMax) wait();
  }

  void wait() {
    const base::Nanos now = clock_.now();
    const bool too_many = held_.size() >= kHeldMessagesMax;
    timer_.expires_after(too_many ? base::Nanos{}
                                  : std::max(base::Nanos{}, held_.front().due - now));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) release();
    });
  }

  void release() {
    const bool held_much = holds_much();
    const base::Nanos now = clock_.now();
    // Each message keeps its place while it is delivered: messages that a handler sends meanwhile
    // queue up behind it.
    const bool all = held_.size() >= kHeldMessagesMax;
    while (!held_.empty() && (all || held_.front().due <= now)) {
      Held& next = held_.front();
      deliver(next.out, std::move(next.message));
      if (closed_) return;
      held_.pop_front();
    }
    if (held_much && !holds_much() && !link_->congested()) handlers_.on_drained();
    if (!closed_ && !held_.empty()) wait();
  }

  void deliver(bool out, wire::Message message) {
    if (out) {
      link_->send(message);
    } else if (!closed_) {
      handlers_.on_message(std::move(message));
    }
  }

  const base::Clock& clock_;
  Handlers handlers_;
  asio::steady_timer timer_;
  std::unique_ptr<SupervisorLink> link_;
  base::Nanos until_{};  // of the disturbance
  std::optional<base::Nanos> delay_;  // none: a drop
  std::deque<Held> held_;  // by due time
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<DisturbedLink> DisturbedLink::around(asio::any_io_executor executor,
                                                     const base::Clock& clock, Handlers handlers,
                                                     const MakeLink& make) {
  auto link = std::make_unique<DisturbedLinkImpl>(executor, clock, std::move(handlers));
  link->attach(make);
  return link;
}

}  // namespace robustrun::agent
