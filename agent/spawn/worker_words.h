#pragma once
// What is said of a worker: in front of its lines, and of how far it is. Pure.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/output/line_metrics.h"
#include "tracer/record_file.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

// As torchrun writes it before a teed line (TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE).
std::string line_prefix(const wire::WorkerTemplate& workers, const wire::WorkerSlot& slot);

wire::WorkerProgress progress_of(base::Attempt attempt, base::LocalRank rank,
                                 const tracer::Reading& reading);

// --line-metrics; none: nobody asked for any. What is not a pattern is left out: cli has checked.
[[nodiscard]] std::optional<LineMetrics> line_metrics_of(const wire::WorkerTemplate& workers);
// For the pump of one stream; empty without `lines`, which has to live as long.
[[nodiscard]] std::function<void(std::string_view)> feeder(std::optional<LineMetrics>& lines,
                                                           bool is_stderr);
// With the numbers of its lines. What the script says by robustrun.step under the same name counts.
wire::WorkerProgress with_lines(const std::optional<LineMetrics>& lines,
                                wire::WorkerProgress progress);

}  // namespace robustrun::agent
