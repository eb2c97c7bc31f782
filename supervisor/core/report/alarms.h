#pragma once
// Alarms about the job's metrics (core/types/metric_alarm.h) in the report of a run. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/metric_alarm.h"

namespace robustrun::supervisor {

struct Facts;

struct AlarmReport {
  std::uint32_t attempt = 0;
  base::Nanos at{};  // since the run's start
  std::string metric;
  MetricAlarm::Kind kind = MetricAlarm::Kind::kNotANumber;
  double value = 0;  // null in JSON where it is not a number
  double usual = 0;
  bool over = false;  // the metric has returned to normal
  std::string text;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "at", at);
    v(3, "metric", metric);
    v(4, "kind", kind);
    v(5, "value", value);
    v(6, "usual", usual);
    v(7, "over", over);
    v(8, "text", text);
  }
};

// All alarms in the journal, in order.
[[nodiscard]] std::vector<AlarmReport> alarm_reports(const Facts& facts);
// "12.3 s after the start: loss is not a number: …"
[[nodiscard]] std::string alarm_words(const AlarmReport& alarm);

}  // namespace robustrun::supervisor
