#include "supervisor/loop_timer.h"

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <utility>

namespace robustrun::supervisor {

struct LoopTimer::State {
  explicit State(const boost::asio::any_io_executor& executor) : timer(executor) {}
  boost::asio::steady_timer timer;
  std::uint64_t round = 0;  // a wait of an earlier round counts no more
};

LoopTimer::LoopTimer(const boost::asio::any_io_executor& executor)
    : state_(std::make_shared<State>(executor)) {}

LoopTimer::~LoopTimer() { cancel(); }

void LoopTimer::after(base::Nanos delay, std::function<void()> then) {
  const std::uint64_t round = ++state_->round;
  state_->timer.expires_after(delay);
  // A wait that was cancelled is of an earlier round.
  state_->timer.async_wait([weak = std::weak_ptr(state_), round,
                            then = std::move(then)](const boost::system::error_code&) {
    const auto state = weak.lock();
    if (state && state->round == round) then();
  });
}

void LoopTimer::cancel() {
  ++state_->round;
  state_->timer.cancel();
}

}  // namespace robustrun::supervisor
