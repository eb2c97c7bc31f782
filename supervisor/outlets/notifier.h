#pragma once
// Sends notices to the targets of --notify.
//
// Used on the driver's loop. Each target has a queue (notice_queue.h) and a thread, so that a
// target that hangs delays no other. Only the end of the run waits for deliveries, for at most
// end_max. The first failure of a target is logged, and later ones only after a success in between.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/io/blocking_pool.h"
#include "base/io/timer.h"
#include "supervisor/outlet_plan.h"
#include "supervisor/outlets/limits.h"
#include "supervisor/outlets/notice.h"

namespace robustrun::supervisor {

struct NoticeSubject;
struct NoticeStop;

class Notifier {
 public:
  struct Limits {
    std::chrono::milliseconds end_max = kNoticeEndMax;
    std::chrono::milliseconds request_max = kNoticeRequestMax;
  };
  // `plan` has at least one target.
  Notifier(const boost::asio::any_io_executor& executor, const base::Clock& clock,
           const NotifyPlan& plan, Limits limits);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  void tell(const Notice& notice, const NoticeSubject& subject);
  // No more notices will come. Calls `done` once, from the loop: when all are sent or given up, or
  // after end_max.
  void finish(std::function<void()> done);

 private:
  class Sender;
  void settle();
  void give_up();
  void stop();
  void end();

  const Limits limits_;
  base::Timer end_timer_;
  const std::shared_ptr<NoticeStop> stop_;
  std::function<void()> done_;
  base::BlockingPool pool_;
  std::vector<std::unique_ptr<Sender>> senders_;
};

}  // namespace robustrun::supervisor
