#pragma once
// Alarms about the job's own metrics. Pure: readings of one rank in, alarms out; the caller gives
// the time. Readings are judged against the history of the attempt, once there is enough of it,
// with hysteresis: some readings in a row raise an alarm, some end it.
//
// loss, gradient norm  not a number, and five-fold jumps (ByteRobust, arXiv 2509.16293 section 4.1)
//                      above the median of the last normal readings. Both must last: single spikes
//                      come and go in healthy training, and a loss scaler that seeks its scale
//                      makes gradients overflow several steps in a row.
// steps per second,    a change-point: the median of a window of readings against the median of
// mfu                  the windows before, with their median absolute deviation as the measure of
//                      noise. Medians of single steps: a pause for a checkpoint or an evaluation
//                      is one long step among many and changes nothing.
//
// The name of a metric tells its role (metric_role). Others are not watched, as their meaning is
// unknown.
//
// Owned by the driver, on its loop. Bounded: MetricWatch keeps kWatchedMetricsMax names of values,
// as many of costs, and a few hundred numbers of each.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/metric_alarm.h"

namespace robustrun::supervisor {

enum class MetricRole : std::uint8_t { kOther, kLoss, kGradientNorm, kUtilization };
// By the name, in any case: "train_loss", "grad_norm", "mfu".
[[nodiscard]] MetricRole metric_role(std::string_view name);

// A reading of the rank whose metrics are the job's (watch/progress_tracker.h).
struct MetricReading {
  base::Attempt attempt;
  std::uint64_t steps = 0;  // done since the attempt's start
  std::optional<std::int64_t> step{};  // the script's own number
  std::uint64_t lines = 0;  // lines of its output that held a metric
  std::optional<base::Nanos> last_step_at{};  // by its node's clock
  std::vector<std::pair<std::string, double>> metrics{};
};

// Not a number, and jumps, of one metric.
class ValueWatch {
 public:
  explicit ValueWatch(MetricRole role) : role_(role) {}
  // Takes a reading; returns alarms that begin or end with it.
  std::vector<MetricAlarm> note(double value);

 private:
  MetricRole role_;
  std::deque<double> normal_;  // newest last
  std::optional<double> last_;
  std::uint32_t wrong_ = 0;  // in a row, until now
  std::uint32_t right_ = 0;
  std::uint32_t high_ = 0;
  std::uint32_t low_ = 0;
  bool is_wrong_ = false;  // the alarm was raised
  bool is_high_ = false;
};

// A cost (seconds of a step, 1 / MFU) that rises and stays up.
class CostWatch {
 public:
  // One reading, by a clock that never goes back. At most one alarm, with costs in it.
  std::optional<MetricAlarm> note(double cost, base::Nanos at);

 private:
  std::optional<MetricAlarm> close_window();

  std::vector<double> window_;
  base::Nanos began_{};
  std::deque<double> medians_;  // of windows that were as usual
  std::uint32_t slow_ = 0;  // windows in a row
  std::uint32_t usual_ = 0;
  std::uint32_t slow_readings_ = 0;
  bool is_slow_ = false;  // the alarm was raised
};

class MetricWatch {
 public:
  // Takes any reading, with news or without. A reading of another attempt begins a new history, as
  // a restarted job has another loss than the failed one.
  std::vector<MetricAlarm> take(const MetricReading& reading, base::Nanos now);

 private:
  void watch_pace(const MetricReading& reading, std::vector<MetricAlarm>& alarms);

  std::optional<MetricReading> before_;  // without its metrics
  std::map<std::string, ValueWatch> values_;
  std::map<std::string, CostWatch> costs_;
  CostWatch pace_;
};

}  // namespace robustrun::supervisor
