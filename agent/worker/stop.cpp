#include "agent/worker/stop.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <utility>

namespace robustrun::agent {
namespace {

class WorkerStopImpl final : public WorkerStop {
 public:
  WorkerStopImpl(const boost::asio::any_io_executor& executor, Actions actions)
      : grace_(executor), actions_(std::make_shared<Actions>(std::move(actions))) {}

  void begin(const wire::StopWorkers& order) override {
    if (order.grace <= base::Nanos::zero()) return actions_->kill();
    actions_->signal(order);
    grace_.expires_after(order.grace);
    grace_.async_wait([actions = std::weak_ptr(actions_)](const boost::system::error_code& error) {
      if (const auto alive = error ? nullptr : actions.lock()) alive->kill();
    });
  }
  void cancel() override { grace_.cancel(); }

 private:
  boost::asio::steady_timer grace_;  // between the order's signal and SIGKILL
  const std::shared_ptr<Actions> actions_;  // the timer's handler may outlive this object
};

}  // namespace

std::unique_ptr<WorkerStop> WorkerStop::make(const boost::asio::any_io_executor& executor,
                                             Actions actions) {
  return std::make_unique<WorkerStopImpl>(executor, std::move(actions));
}

}  // namespace robustrun::agent
