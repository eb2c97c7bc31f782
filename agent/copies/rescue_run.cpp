#include "agent/copies/rescue_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/node/limits.h"
#include "base/io/log.h"

namespace robustrun::agent {

RescueRun::RescueRun(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                     RescueLimits limits, Handlers handlers)
    : clock_(clock),
      limits_(limits),
      handlers_(std::move(handlers)),
      timer_(executor),
      watch_(std::make_shared<RescueWatch>()) {
  watch_->until = clock.now() + limits.most;
}

base::Status RescueRun::begin(base::BlockingPool& pool, Work work) {
  auto lines = std::make_shared<Lines>();
  const auto done = [weak = weak_from_this(), lines] {
    if (const auto run = weak.lock()) run->on_ended(*lines);
  };
  RR_TRY(pool.submit(
      kSingleLane,
      [lines, watch = watch_, has_begun = has_begun_, work = std::move(work)]() mutable {
        *has_begun = true;
        *lines = work(*watch);
      },
      done));
  await_look();
  return {};
}

void RescueRun::when_over(std::function<void()> go) {
  if (!is_waited_for_) return go();
  waiting_.push_back(std::move(go));
}

void RescueRun::abandon() {
  timer_.cancel();
  handlers_ = {};
  waiting_.clear();
  watch_->given_up = true;
}

void RescueRun::await_look() {
  timer_.after(limits_.look, [weak = weak_from_this()] {
    if (const auto run = weak.lock()) run->look();
  });
}

void RescueRun::look() {
  const std::uint64_t bytes = *watch_->written;
  // A rescue that is queued waits for another one that advances.
  const bool goes_on = std::exchange(seen_, bytes) != bytes || !*has_begun_;
  const bool is_over = clock_.now() >= watch_->until;
  if (++looks_ < limits_.wait / limits_.look) return await_look();
  if (looks_ == limits_.wait / limits_.look) {
    if (goes_on && !is_over) {
      RR_LOG(kWarn, {},
             "copies in memory are still being saved; loads and saves of the next workers wait "
             "for that, for {:.0f} s at most",
             std::chrono::duration<double>(limits_.most).count());
    } else {
      RR_LOG(kWarn, {}, "copies in memory are still being saved; not waiting");
    }
    if (handlers_.late) handlers_.late();
  } else if (!goes_on || is_over) {
    RR_LOG(kWarn, {}, "copies in memory are still being saved; not waiting any more: {}",
           goes_on ? "it takes too long" : "nothing was written lately");
  }
  if (goes_on && !is_over) return await_look();
  watch_->given_up = true;
  let_go();
}

void RescueRun::on_ended(const Lines& lines) {
  timer_.cancel();
  if (handlers_.ended) std::exchange(handlers_, {}).ended(lines);
  let_go();
}

void RescueRun::let_go() {
  is_waited_for_ = false;
  for (const auto& go : std::exchange(waiting_, {})) go();
}

RescueLimits rescue_limits(std::uint64_t bytes) {
  constexpr std::chrono::milliseconds kLongerMax = kRescueMax - kBreakpointSaveMax;
  const std::uint64_t longer_ms = std::min(bytes / (kRescueBytesPerSecond / 1000),
                                           static_cast<std::uint64_t>(kLongerMax.count()));
  RescueLimits limits;
  limits.most = kBreakpointSaveMax + std::chrono::milliseconds(longer_ms);
  return limits;
}

base::Result<std::shared_ptr<RescueRun>> RescueRun::start(
    const boost::asio::any_io_executor& executor, const base::Clock& clock,
    base::BlockingPool& pool, RescueLimits limits, Work work, Handlers handlers) {
  RR_ASSERT(limits.look > base::Nanos(0) && limits.wait >= limits.look);
  std::shared_ptr<RescueRun> run(new RescueRun(executor, clock, limits, std::move(handlers)));
  RR_TRY(run->begin(pool, std::move(work)));
  return run;
}

}  // namespace robustrun::agent
