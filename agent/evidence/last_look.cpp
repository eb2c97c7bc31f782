#include "agent/evidence/last_look.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "agent/node/limits.h"

namespace robustrun::agent {

class LastLook::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(const boost::asio::any_io_executor& executor) : deadline_(executor) {}

  void begin() {
    if (std::exchange(is_under_way_, true)) return;
    deadline_.expires_after(kLastLookMax);
    deadline_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
      auto look = error ? nullptr : self.lock();
      if (look) look->end();
    });
  }

  void end() {
    if (!std::exchange(is_under_way_, false)) return;
    deadline_.cancel();
    if (stop_) std::exchange(stop_, nullptr)();
  }

  void then(std::function<void()> stop) {
    stop_ = std::move(stop);
    if (!is_under_way_ && stop_) std::exchange(stop_, nullptr)();
  }

  void drop() {
    stop_ = nullptr;
    deadline_.cancel();
  }

 private:
  boost::asio::steady_timer deadline_;
  bool is_under_way_ = false;
  std::function<void()> stop_;
};

LastLook::LastLook(const boost::asio::any_io_executor& executor)
    : impl_(std::make_shared<Impl>(executor)) {}
LastLook::~LastLook() { impl_->drop(); }
void LastLook::begin() { impl_->begin(); }
void LastLook::end() { impl_->end(); }
void LastLook::then(std::function<void()> stop) { impl_->then(std::move(stop)); }

}  // namespace robustrun::agent
