#include "agent/uplink/disturbed_link.h"

#include <algorithm>
#include <utility>

namespace robustrun::agent {

DisturbedLink::DisturbedLink(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                             Handlers handlers, const MakeLink& make)
    : clock_(clock), handlers_(std::move(handlers)), timer_(executor) {
  link_ = make({[this](wire::Message message) { pass(false, std::move(message)); },
                [this] {
                  if (!holds_much()) handlers_.on_drained();
                },
                handlers_.on_given_up});
}

void DisturbedLink::disturb(wire::FaultKind kind, base::Nanos duration, base::Nanos delay) {
  const base::Nanos now = clock_.now();
  until_ = now + duration;
  delay_.reset();
  if (kind == wire::FaultKind::kNetDelay) delay_ = delay;
  // Held messages follow the new disturbance, too: nothing passes during a drop, and the end of a
  // longer, earlier drop is forgotten.
  for (Held& held : held_) held.due = delay_ ? std::min(held.due, now + *delay_) : until_;
  if (!held_.empty()) wait();
}

std::weak_ptr<wire::Channel> DisturbedLink::close() {
  closed_ = true;
  timer_.cancel();
  for (const Held& held : held_) {
    if (held.out) link_->send(held.message);
  }
  held_.clear();
  return link_->close();
}

void DisturbedLink::pass(bool out, wire::Message message) {
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

void DisturbedLink::wait() {
  const base::Nanos now = clock_.now();
  const bool too_many = held_.size() >= kHeldMessagesMax;
  timer_.after(too_many ? base::Nanos{} : std::max(base::Nanos{}, held_.front().due - now),
               [this] { release(); });
}

void DisturbedLink::release() {
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

void DisturbedLink::deliver(bool out, wire::Message message) {
  if (out) {
    link_->send(message);
  } else if (!closed_) {
    handlers_.on_message(std::move(message));
  }
}

}  // namespace robustrun::agent
