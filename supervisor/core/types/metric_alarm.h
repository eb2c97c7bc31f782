#pragma once
// Alarms about the job's own numbers, as events, and in words. The driver reads the metrics of one
// rank (Progress::metric_names), and core/status/metric_watch.h judges them. The core decides what
// follows. Pure.

#include <cstdint>
#include <string>

#include "base/core/ids.h"

namespace robustrun::supervisor {

struct MetricAlarm {
  enum class Kind : std::uint8_t {
    kNotANumber,  // NaN or infinite
    kJump,  // many times the usual value
    kSlower,  // the job does less work per second
  };
  base::Attempt attempt;
  std::string name;  // of the metric in the script; or kStepsPerSecond
  Kind kind = Kind::kNotANumber;
  double value = 0;  // the newest value
  double usual = 0;  // median of the job's own history; 0: no history yet
  std::uint32_t readings = 0;  // readings in a row that led to the alarm
  bool over = false;  // the metric is as usual again
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "name", name);
    v(3, "kind", kind);
    v(4, "value", value);
    v(5, "usual", usual);
    v(6, "readings", readings);
    v(7, "over", over);
  }
};

inline constexpr const char* kStepsPerSecond = "steps per second";

// "not a number", "jump", "slower": also the words of `found` in faults.toml. "unknown" for a kind
// of a newer version.
[[nodiscard]] const char* to_string(MetricAlarm::Kind kind);
// "loss is not a number: nan, 3 readings in a row, usual 2.31"
[[nodiscard]] std::string in_words(const MetricAlarm& alarm);

}  // namespace robustrun::supervisor
