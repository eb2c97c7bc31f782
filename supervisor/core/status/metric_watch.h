#pragma once
// Alarms about the job's own metrics. Pure: readings of one rank in, alarms out; the caller gives
// the time. Readings are compared with the attempt's history once the history is long enough. An
// alarm begins and ends only after several readings in a row.
//
// loss, gradient norm  The alarm is raised when the value is not a number, or jumps to five times
//                      the median of the last normal readings (ByteRobust, arXiv 2509.16293,
//                      section 4.1). Both must last: single spikes are normal in healthy training,
//                      and a loss scaler that searches its scale makes gradients overflow in
//                      several steps in a row.
// steps per second,    The alarm is raised when the median of a window of readings is clearly worse
// mfu                  than the median of the windows before: by a fixed factor, and by several of
//                      their median absolute deviations. A pause for a checkpoint or an evaluation
//                      is one long step among many and does not change a median.
//
// A metric's name tells its role (metric_role()). Metrics of other roles are not watched.
//
// Owned by the driver, on its loop. Bounded: MetricWatch watches at most kWatchedMetricsMax values
// and as many costs, and keeps a few hundred numbers of each.

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
// The role by the name, in upper or lower case: "train_loss", "grad_norm", "mfu".
[[nodiscard]] MetricRole metric_role(std::string_view name);

// A reading of the rank whose metrics are the job's (watch/progress_tracker.h).
struct MetricReading {
  base::Attempt attempt;
  std::uint64_t steps = 0;  // done since the attempt's start
  std::optional<std::int64_t> step{};  // the script's own number
  std::uint64_t lines = 0;  // lines of its output that held a metric
  std::optional<base::Nanos> last_step_at{};  // supervisor's clock
  std::vector<std::pair<std::string, double>> metrics{};
};

// Watches one metric for values that are not a number, and for jumps.
class ValueWatch {
 public:
  explicit ValueWatch(MetricRole role) : role_(role) {}
  // Takes a reading; returns the alarms that begin or end with this reading.
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

// Watches a cost (seconds per step, or 1 / MFU) for a rise that lasts.
class CostWatch {
 public:
  // Takes a reading, with the time of a clock that never goes back. The alarm's values are costs.
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
  // Ignores a reading that has nothing new. A reading of another attempt begins a new history, as a
  // restarted job has another loss than the failed one.
  std::vector<MetricAlarm> take(const MetricReading& reading, base::Nanos now);

 private:
  void watch_pace(const MetricReading& reading, std::vector<MetricAlarm>& alarms);

  std::optional<MetricReading> before_;  // without its metrics
  std::map<std::string, ValueWatch> values_;
  std::map<std::string, CostWatch> costs_;
  CostWatch pace_;
};

}  // namespace robustrun::supervisor
