#include "base/io/timer.h"

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <utility>

namespace robustrun::base {

struct Timer::Wait {
  explicit Wait(const boost::asio::any_io_executor& executor) : timer(executor) {}
  boost::asio::steady_timer timer;
  std::uint64_t number = 0;  // of the handler that may still be called
};

Timer::Timer(const boost::asio::any_io_executor& executor)
    : wait_(std::make_shared<Wait>(executor)) {}

void Timer::after(Nanos time, std::move_only_function<void()> handler) {
  cancel();
  wait_->timer.expires_after(time);
  wait_->timer.async_wait([weak = std::weak_ptr(wait_), number = wait_->number,
                           handler = std::move(handler)](const auto&) mutable {
    const auto wait = weak.lock();
    if (wait && wait->number == number) handler();
  });
}

void Timer::cancel() {
  ++wait_->number;  // the handler of a wait that is over may be queued
  wait_->timer.cancel();
}

boost::asio::any_io_executor Timer::get_executor() const { return wait_->timer.get_executor(); }

}  // namespace robustrun::base
