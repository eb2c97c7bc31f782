#include "agent/worker/attempt_end.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "agent/node/limits.h"
#include "agent/worker/shm_sweep.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

void AttemptEnd::begin_attempt() {
  ++turn_;
  state_ = {};
  handlers_ = {};
}

void AttemptEnd::begin(base::Attempt attempt, base::Nanos since, Handlers handlers) {
  attempt_ = attempt;
  handlers_ = std::move(handlers);
  const bool goes_on = state_.goes_on;
  state_ = {.has_begun = true, .sweeps = true, .waits = true, .goes_on = goes_on};
  copies_.save_copies([weak = weak_from_this(), turn = turn_] {
    if (const auto self = weak.lock()) self->on_saved(turn);
  });
  sweep(since);
}

void AttemptEnd::set_goes_on(bool goes_on) {
  state_.goes_on = goes_on;
  finish_if_done();
}

void AttemptEnd::sweep(base::Nanos since) {
  auto removed = std::make_shared<std::vector<std::string>>();
  const auto done = [weak = weak_from_this(), removed, turn = turn_] {
    const auto self = weak.lock();
    if (!self || self->turn_ != turn) return;
    self->state_.sweeps = false;
    self->removed_ = std::move(*removed);
    self->finish_if_done();
  };
  const auto submitted =
      sweep_pool_.submit(kSingleLane, [removed, since] { *removed = sweep_shm(since); }, done);
  if (!submitted) boost::asio::post(node_.executor, done);
}

void AttemptEnd::on_saved(std::uint64_t turn) {
  if (turn != turn_) return;
  state_.waits = false;
  if (state_.is_done) return handlers_.saved();
  finish_if_done();
}

void AttemptEnd::finish_if_done() {
  if (!state_.has_begun || state_.is_done || state_.sweeps) return;
  if (state_.waits && !state_.goes_on) return;
  state_.is_done = true;
  state_.saves = state_.waits;
  handlers_.done(std::exchange(removed_, {}));
  if (!state_.saves) return;
  copies_.after_saving([weak = weak_from_this(), turn = turn_, attempt = attempt_] {
    const auto self = weak.lock();
    if (!self) return;
    if (self->turn_ == turn) self->state_.saves = false;
    self->node_.send(wire::SavingOver{attempt});
  });
}

}  // namespace robustrun::agent
