#pragma once
// Runs a rescue (rescue.h) on a thread of a pool, and decides how long others wait for it.
//
// If the rescue has not ended after `wait`, it is late, and the handler `late` is called. Loads and
// saves of the next workers (when_over()) still wait until the rescue has ended or is given up:
// once they use the checkpoint directories, it cannot commit. A late rescue is given up after
// `most`, or when a look finds that nothing was written since the look before. It then begins no
// further save.
//
// Owned by the caller of start(), on the agent's loop.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agent/copies/limits.h"
#include "agent/copies/rescue.h"
#include "base/io/blocking_pool.h"
#include "base/io/timer.h"

namespace robustrun::agent {

struct RescueLimits {
  base::Nanos wait = kBreakpointSaveMax;
  base::Nanos look = kRescueLook;  // interval of the looks; not longer than `wait`
  base::Nanos most = kBreakpointSaveMax;
};

// The limits for copies of `bytes` in total.
[[nodiscard]] RescueLimits rescue_limits(std::uint64_t bytes);

class RescueRun : public std::enable_shared_from_this<RescueRun> {
 public:
  using Lines = std::vector<RescueLine>;
  using Work = std::move_only_function<Lines(RescueWatch&)>;
  struct Handlers {
    std::function<void()> late;  // called at most once, before `ended`
    std::function<void(const Lines&)> ended;  // called once, even after the rescue was given up
  };

  // `clock` outlives the run and its thread. kLimit: the pool's queue is full.
  static base::Result<std::shared_ptr<RescueRun>> start(
      const boost::asio::any_io_executor& executor, const base::Clock& clock,
      base::BlockingPool& pool, RescueLimits limits, Work work, Handlers handlers);
  // The rescue has neither ended nor been given up.
  [[nodiscard]] bool is_waited_for() const { return is_waited_for_; }
  // Calls `go`, perhaps at once, when is_waited_for() is false.
  void when_over(std::function<void()> go);
  // The last call: gives the rescue up, and no function is called any more.
  void abandon();

 private:
  RescueRun(const boost::asio::any_io_executor& executor, const base::Clock& clock,
            RescueLimits limits, Handlers handlers);
  base::Status begin(base::BlockingPool& pool, Work work);
  void await_look();
  void look();
  void on_ended(const Lines& lines);
  void let_go();

  const base::Clock& clock_;
  RescueLimits limits_;
  Handlers handlers_;
  base::Timer timer_;
  std::shared_ptr<RescueWatch> watch_;
  std::shared_ptr<std::atomic<bool>> has_begun_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<std::function<void()>> waiting_;
  std::uint64_t seen_ = 0;
  std::int64_t looks_ = 0;
  bool is_waited_for_ = true;
};

}  // namespace robustrun::agent
