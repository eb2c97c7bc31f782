#pragma once
// The end that the scheduler has set for the job, and the last save before it.
//
// A fixed lead is too short for large checkpoints and wastes time with small ones, so the last save
// begins as long before the end as the longest save of this run has taken, plus two steps (the
// ranks finish the one under way, and agree on the next) and a margin: half of that save, between
// kJobEndMarginMin and kJobEndMarginMax. At most half of the time that the job has left when the
// run starts is given up for it, so that no wrong figure can keep the job from training. If workers
// have reported no save, the time that they have to save counts instead. If a stop of this run in
// which workers were told to save took longer than either, its time counts
// (core/status/save_times.h).
//
// Owned by the driver, on its loop. The scheduler may be slow or gone: the run never depends on it.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/timer.h"
#include "supervisor/core/status/save_times.h"
#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

class JobEnd {
 public:
  struct Settings {
    std::string job;  // the scheduler's id
    base::Nanos poll{};  // how often the scheduler is asked; 0: never
    base::Nanos grace{};  // that workers have to save: Deadlines::shutdown_grace
    base::Nanos patience{};  // how long a save that is due waits for the scheduler's answer
    std::string scheduler = "Slurm";
  };
  struct Hands {
    // As in Driver::Parts; null without a scheduler.
    std::function<void(std::function<void(base::Result<std::optional<base::Nanos>>)>)> ask_end{};
    std::function<LongestSaves()> longest_saves{};
    std::function<base::Nanos()> step_time{};  // 0: unknown
    std::function<bool()> is_ending{};  // the run ends already
    std::function<void(SignalReceived)> on_save{};  // the run is to save and end
  };
  JobEnd(const boost::asio::any_io_executor& executor, const base::Clock& clock, Settings settings,
         Hands hands);

  // `since`: Unix time of the run's start, which may be another supervisor's.
  void begin(base::Nanos since);
  void end();
  // Takes over `end` (Unix time) from a warning of Slurm's, as the end may have been moved since
  // the last poll. Returns "saving at 13:58:30" if the last save is still to come, and its time
  // rests on saves that workers reported: the warning then needs no reaction. Empty: it does.
  [[nodiscard]] std::string timed_save(base::Nanos end);
  // The time that workers get to save, from now on, in a job that ends at `end` (Unix time).
  [[nodiscard]] base::Nanos time_to_save(base::Nanos end) const;

 private:
  void ask();
  void take(const base::Result<std::optional<base::Nanos>>& told);
  void plan();
  void announce(base::Nanos at);
  void save();
  [[nodiscard]] base::Nanos save_time() const;  // by clock_.wall_time()
  [[nodiscard]] std::string reason() const;

  const base::Clock& clock_;
  const Settings settings_;
  const Hands hands_;
  std::optional<base::Nanos> since_;  // as in begin(); none: the scheduler is not asked
  std::optional<base::Nanos> end_;  // Unix time; none: unknown, or there is none
  std::optional<base::Nanos> announced_;  // the end for which the save was announced
  bool is_announced_as_timed_ = false;  // by saves that workers reported
  bool is_asking_ = false;
  bool is_due_ = false;  // the scheduler is asked once more, as the end may have been moved
  bool is_silent_ = false;  // the scheduler did not tell the end, which was logged
  base::Timer poll_timer_, save_timer_;
  std::shared_ptr<bool> goes_on_ = std::make_shared<bool>(true);  // until end() or the save
};

// Pure. Unix times; `since`: when the run started. `save`: how long it may take.
[[nodiscard]] base::Nanos last_save_time(base::Nanos since, base::Nanos end, base::Nanos save,
                                         base::Nanos step);

}  // namespace robustrun::supervisor
