#pragma once
// Texts and progress reports about one worker. Pure.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/output/line_metrics.h"
#include "tracer/record_file.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

// The prefix that torchrun writes before a teed line (--log-line-prefix-template). `host`: this
// machine's own name.
std::string line_prefix(const wire::WorkerTemplate& workers, const wire::WorkerSlot& slot,
                        std::string_view host);

wire::WorkerProgress progress_of(base::Attempt attempt, base::LocalRank rank,
                                 const tracer::Reading& reading);

// For --line-metrics; nullopt: not asked for. Invalid patterns are skipped: cli has checked them.
[[nodiscard]] std::optional<LineMetrics> line_metrics_of(const wire::WorkerTemplate& workers,
                                                         LineMetrics::OnFormat on_format);
// A function that feeds one stream into `lines`, which outlives it; empty function without `lines`.
[[nodiscard]] std::function<void(std::string_view)> feeder(std::optional<LineMetrics>& lines,
                                                           bool is_stderr);
// Adds the numbers of the worker's lines. A value of the same name from robustrun.step wins.
wire::WorkerProgress with_lines(const std::optional<LineMetrics>& lines,
                                wire::WorkerProgress progress);

}  // namespace robustrun::agent
