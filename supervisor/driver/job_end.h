#pragma once
// The end that the scheduler has set for the job, and the last save before it.
//
// A fixed lead is too short for large checkpoints and wastes time with small ones. So the time from
// the beginning of the last save to the end of the job is the sum of three times:
//
// 1. The longest save that workers have reported (core/status/save_times.h). If they have reported
//    none, the time that they have to save. If a stop in which workers were told to save took
//    longer than either, its time.
// 2. Two steps: the ranks finish the current step, and agree on the next.
// 3. A margin: half of the first time, but between kJobEndMarginMin and kJobEndMarginMax.
//
// The sum is at most half of the time from the run's start to the job's end, so that no wrong
// figure can keep the job from training.
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
    base::Nanos grace{};  // time that workers have to save (Deadlines::shutdown_grace)
    base::Nanos patience{};  // how long a save that is due waits for the scheduler's answer
    std::string scheduler = "Slurm";
  };
  struct Hands {
    // Asks the scheduler for the job's end, as Unix time (nullopt: the job has no end), and answers
    // once, from the loop. Null without a scheduler.
    std::function<void(std::function<void(base::Result<std::optional<base::Nanos>>)>)> ask_end{};
    std::function<LongestSaves()> longest_saves{};
    std::function<base::Nanos()> step_time{};  // 0: unknown
    std::function<bool()> is_ending{};  // the run ends already
    std::function<void(SignalReceived)> on_save{};  // the run must save and end
  };
  JobEnd(const boost::asio::any_io_executor& executor, const base::Clock& clock, Settings settings,
         Hands hands);

  // `since`: Unix time of the run's start, perhaps under an earlier supervisor.
  void begin(base::Nanos since);
  void end();
  // Takes over `end` (Unix time) from a warning of Slurm, as the end may have been moved since the
  // last poll. Returns "saving at 13:58:30" if the last save is still to come, and its time was
  // computed from saves that workers reported: the warning needs no reaction. Returns an empty
  // string if the warning needs one.
  [[nodiscard]] std::string timed_save(base::Nanos end);
  // The time that workers get to save if they begin now and the job ends at `end` (Unix time).
  [[nodiscard]] base::Nanos time_to_save(base::Nanos end) const;

 private:
  void ask();
  void take(const base::Result<std::optional<base::Nanos>>& told);
  void plan();
  void announce(base::Nanos at);
  void save();
  [[nodiscard]] base::Nanos save_time() const;  // Unix time
  [[nodiscard]] std::string reason() const;

  const base::Clock& clock_;
  const Settings settings_;
  const Hands hands_;
  std::optional<base::Nanos> since_;  // as in begin(); nullopt: the scheduler is not asked
  std::optional<base::Nanos> end_;  // Unix time; nullopt: unknown, or the job has no end
  std::optional<base::Nanos> announced_;  // the end for which the save was announced
  bool is_announced_as_timed_ = false;  // its time was computed from reported saves
  bool is_asking_ = false;
  bool is_due_ = false;  // the scheduler is asked once more, as the end may have been moved
  bool is_silent_ = false;  // it was logged that the scheduler does not tell the end
  base::Timer poll_timer_, save_timer_;
  std::shared_ptr<bool> goes_on_ = std::make_shared<bool>(true);  // until end() or the save
};

// When the last save must begin. `since`: the run's start; these are Unix times. `save`: how long a
// save may take. `step`: how long a step takes; 0: unknown. Pure.
[[nodiscard]] base::Nanos last_save_time(base::Nanos since, base::Nanos end, base::Nanos save,
                                         base::Nanos step);

}  // namespace robustrun::supervisor
