#pragma once
// Texts and progress reports about one worker. Pure.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/output/line_metrics.h"
#include "base/core/result.h"
#include "tracer/record_file.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

// The prefix that torchrun writes before a teed line (--log-line-prefix-template). `host`: this
// machine's own name.
std::string line_prefix(const wire::WorkerTemplate& workers, const wire::WorkerSlot& slot,
                        std::string_view host);

wire::WorkerProgress progress_of(base::Attempt attempt, base::LocalRank rank,
                                 const tracer::Reading& reading);

// For tracer::Evidence::data_wait.
[[nodiscard]] std::string data_wait_of(const tracer::DataWaits& data);

// Why a worker of this node's `slots` could not be started. Without descriptors: also `limit`, this
// process's own one (base/io/descriptor_limit.h: the hard limit), and what all the workers take, if
// that is more.
[[nodiscard]] std::string start_failure_words(const base::Error& error,
                                              const wire::WorkerTemplate& workers,
                                              const std::vector<wire::WorkerSlot>& slots,
                                              std::uint64_t limit);

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
