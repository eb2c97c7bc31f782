#include "agent/worker/saves_gate.h"

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/io/log.h"

namespace robustrun::agent {
namespace {

class SavesGateImpl final : public SavesGate, public std::enable_shared_from_this<SavesGateImpl> {
 public:
  SavesGateImpl(const boost::asio::any_io_executor& executor, base::Nanos most)
      : timer_(executor), most_(most) {}

  void begin_attempt(bool is_shut) override {
    timer_.cancel();
    waiting_.clear();
    is_shut_ = is_shut;
    ++attempts_;
    if (!is_shut) return;
    timer_.expires_after(most_);
    timer_.async_wait(
        [weak = weak_from_this(), attempt = attempts_](const boost::system::error_code& error) {
          if (const auto gate = error ? nullptr : weak.lock()) gate->give_up(attempt);
        });
  }

  void open() override {
    timer_.cancel();
    is_shut_ = false;
    for (const auto& go : std::exchange(waiting_, {})) go();
  }

  void when_open(std::function<void()> go) override {
    if (!is_shut_) return go();
    waiting_.push_back(std::move(go));  // bounded: a worker has few connections, with one wait each
  }

 private:
  void give_up(std::uint64_t attempt) {
    if (!is_shut_ || attempt != attempts_) return;
    RR_LOG(kWarn, {},
           "no report that the previous attempt's copies in memory are saved; workers no longer "
           "wait for it");
    open();
  }

  boost::asio::steady_timer timer_;
  const base::Nanos most_;
  std::vector<std::function<void()>> waiting_;
  std::uint64_t attempts_ = 0;
  bool is_shut_ = false;
};

}  // namespace

std::shared_ptr<SavesGate> SavesGate::make(const boost::asio::any_io_executor& executor,
                                           base::Nanos most) {
  return std::make_shared<SavesGateImpl>(executor, most);
}

}  // namespace robustrun::agent
