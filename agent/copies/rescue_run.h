#pragma once
// A rescue (rescue.h) on a thread of a pool, and how long it is waited for. Whoever ordered it
// hears that it has ended, or after `wait` that it goes on. The next workers' loads and saves wait
// longer, so that none of them takes the directories over meanwhile: as long as something was
// written between two looks, and not beyond `most`. Then nothing more is begun.
//
// Owned by whoever ordered it, on the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agent/copies/limits.h"
#include "agent/copies/rescue.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

struct RescueLimits {
  base::Nanos wait = kBreakpointSaveMax;
  base::Nanos look = kRescueLook;  // a part of `wait`
  base::Nanos most = kBreakpointSaveMax;
};

// For so many bytes of copies.
[[nodiscard]] RescueLimits rescue_limits(std::uint64_t bytes);

class RescueRun {
 public:
  using Lines = std::vector<RescueLine>;
  using Work = std::move_only_function<Lines(RescueWatch&)>;
  struct Heard {
    std::function<void()> late;               // at most once, and before `ended`
    std::function<void(const Lines&)> ended;  // once
  };

  // `clock` outlives the run and its thread. kLimit: too much waits for the pool.
  static base::Result<std::shared_ptr<RescueRun>> start(
      const boost::asio::any_io_executor& executor, const base::Clock& clock,
      base::BlockingPool& pool, RescueLimits limits, Work work, Heard heard);
  virtual ~RescueRun() = default;
  // Neither ended nor given up.
  [[nodiscard]] virtual bool is_waited_for() const = 0;
  // Calls `go` when it no longer is.
  virtual void when_over(std::function<void()> go) = 0;
  // Nobody hears of it any more.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
