#pragma once
// A run's metrics in Prometheus's text format 0.0.4, which the node exporter's textfile collector
// also reads. docs/metrics.md lists all of them; names are never changed. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "supervisor/core/status/run_totals.h"
#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

struct MetricsFacts {
  RunStatus status;
  RunTotals totals;
  std::uint64_t steps_total = 0;  // totals.earlier_steps plus this attempt's steps; never falls
  std::optional<TimeReport> time;  // nullopt: no longer known (report/time/fold.h)
  std::string build;  // base/core/build_id.h
};

[[nodiscard]] std::string metrics_text(const MetricsFacts& facts);

// The value of a label as the format writes it between quotes. Bytes that are not UTF-8, and
// control characters, become \xNN.
[[nodiscard]] std::string label_text(std::string_view value);
// A number as the format writes it.
[[nodiscard]] std::string number_text(double value);

}  // namespace robustrun::supervisor
