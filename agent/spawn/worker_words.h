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

// The prefix of a worker's output lines, as torchrun writes it (--log-line-prefix-template).
// `host`: this machine's name.
std::string line_prefix(const wire::WorkerTemplate& workers, const wire::WorkerSlot& slot,
                        std::string_view host);

wire::WorkerProgress progress_of(base::Attempt attempt, base::LocalRank rank,
                                 const tracer::Reading& reading);

// For tracer::Evidence::data_wait: the place where the worker waits for data; empty: it does not.
[[nodiscard]] std::string data_wait_of(const tracer::DataWaits& data);

// Why a worker of this node's `slots` could not be started. If descriptors ran out (EMFILE), the
// text also has `limit`, this process's hard limit of open files, and how many all the workers
// need, if that is more.
[[nodiscard]] std::string start_failure_words(const base::Error& error,
                                              const wire::WorkerTemplate& workers,
                                              const std::vector<wire::WorkerSlot>& slots,
                                              std::uint64_t limit);

// The reader of values in output lines (--line-metrics and known line formats); nullopt: the
// template has no patterns. Skips invalid patterns: the command line has checked them.
[[nodiscard]] std::optional<LineMetrics> line_metrics_of(const wire::WorkerTemplate& workers,
                                                         LineMetrics::OnFormat on_format);
// A function that feeds one stream into `lines`; empty if `lines` is. `lines` outlives the
// function.
[[nodiscard]] std::function<void(std::string_view)> feeder(std::optional<LineMetrics>& lines,
                                                           bool is_stderr);
// `progress` with the values from the worker's lines. A metric that `progress` has already stays.
wire::WorkerProgress with_lines(const std::optional<LineMetrics>& lines,
                                wire::WorkerProgress progress);

}  // namespace robustrun::agent
