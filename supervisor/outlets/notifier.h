#pragma once
// Sends notices to the targets of --notify.
//
// Used on the driver's loop. Each target has a queue (notice_queue.h) and a thread, so that one
// that hangs delays no other. The run waits for it only at its end, and not for long. The first
// failure of a target is logged, and later ones only after a success in between.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/outlet_plan.h"
#include "supervisor/outlets/limits.h"
#include "supervisor/outlets/notice.h"

namespace robustrun::supervisor {

struct NoticeSubject;

class Notifier {
 public:
  struct Limits {
    std::chrono::milliseconds end_max = kNoticeEndMax;
    std::chrono::milliseconds request_max = kNoticeRequestMax;
  };
  static std::unique_ptr<Notifier> open(boost::asio::any_io_executor executor,
                                        const base::Clock& clock, const NotifyPlan& plan,
                                        Limits limits);
  virtual ~Notifier() = default;
  virtual void tell(const Notice& notice, const NoticeSubject& subject) = 0;
  // No more notices will come. Calls `done` once, from the loop: when all are sent or given up, or
  // after end_max.
  virtual void finish(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
