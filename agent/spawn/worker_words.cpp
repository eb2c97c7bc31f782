#include "agent/spawn/worker_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "agent/node/limits.h"
#include "agent/spawn/worker_stream.h"
#include "base/core/text_template.h"
#include "base/core/words.h"

namespace robustrun::agent {
namespace {

LineFormat format_of(const wire::LineFormat& given) {
  LineFormat format;
  format.project = given.project;
  for (const std::string& text : given.lines) {
    if (auto pieces = parse_line_text(text)) format.lines.push_back(*std::move(pieces));
  }
  for (const wire::LineValue& value : given.values) {
    auto pattern = parse_line_pattern(value.name + "=" + value.text);
    if (!pattern) continue;
    pattern->factor = value.factor;
    pattern->inverse = value.inverse;
    pattern->grouped = true;
    format.values.push_back(*std::move(pattern));
  }
  return format;
}

}  // namespace

std::string line_prefix(const wire::WorkerTemplate& workers, const wire::WorkerSlot& slot,
                        std::string_view host) {
  const std::string& given = workers.line_prefix_template;
  const std::string rank = std::to_string(slot.rank.value);
  const std::string local_rank = std::to_string(slot.local_rank.value);
  const base::TemplateValue values[] = {
      {"role_name", workers.role}, {"rank", rank}, {"local_rank", local_rank}, {"hostname", host}};
  return base::substitute(given.empty() ? "[${role_name}${local_rank}]:" : given, values);
}

wire::WorkerProgress progress_of(base::Attempt attempt, base::LocalRank rank,
                                 const tracer::Reading& reading) {
  wire::WorkerProgress progress;
  progress.attempt = attempt;
  progress.local_rank = rank;
  progress.steps = reading.steps;
  progress.step = reading.step;
  progress.steps_before = reading.steps_before;
  progress.user_code_at = reading.user_code_at;
  progress.first_step_at = reading.first_step_at;
  progress.last_step_at = reading.last_step_at;
  progress.data_waited = reading.data.waited;
  progress.data_wait_since = reading.data.since;
  progress.data_place = reading.data.place;
  progress.data_skipped = reading.data.skipped;
  for (const auto& [name, value] : reading.metrics) progress.metrics.push_back({name, value});
  return progress;
}

std::string data_wait_of(const tracer::DataWaits& data) {
  if (!data.since) return "";
  return data.place.empty() ? "an unknown source" : data.place;
}

std::string start_failure_words(const base::Error& error, const wire::WorkerTemplate& workers,
                                const std::vector<wire::WorkerSlot>& slots, std::uint64_t limit) {
  if (error.os_errno != EMFILE) return error.what;
  std::uint64_t needed = kDescriptorsOwn;
  for (const wire::WorkerSlot& slot : slots) {
    ++needed;                                      // its shim's socket
    if (!workers.python_path.empty()) needed += 2;  // its record and its own socket
    for (const wire::StreamRoute route : {slot.out, slot.err}) {
      if (is_captured(route)) needed += 2;  // a pipe and a file
    }
  }
  const std::string why = needed > limit
                              ? fmt::format(", and {} on one node take about {}",
                                            base::counted(slots.size(), "worker"), needed)
                              : std::string();
  return fmt::format("{}; the hard limit of open files (ulimit -Hn) is {}{}", error.what, limit,
                     why);
}

std::optional<LineMetrics> line_metrics_of(const wire::WorkerTemplate& workers,
                                           LineMetrics::OnFormat on_format) {
  std::vector<LinePattern> patterns;
  for (const std::string& text : workers.metrics) {
    if (auto pattern = parse_line_pattern(text)) patterns.push_back(*std::move(pattern));
  }
  std::vector<LineFormat> formats;
  for (const wire::LineFormat& format : workers.line_formats) formats.push_back(format_of(format));
  if (patterns.empty() && formats.empty()) return std::nullopt;
  return LineMetrics(std::move(patterns), std::move(formats), std::move(on_format));
}

std::function<void(std::string_view)> feeder(std::optional<LineMetrics>& lines, bool is_stderr) {
  if (!lines) return {};
  return [&lines, is_stderr](std::string_view bytes) { lines->feed(is_stderr, bytes); };
}

wire::WorkerProgress with_lines(const std::optional<LineMetrics>& lines,
                                wire::WorkerProgress progress) {
  if (!lines) return progress;
  progress.lines = lines->lines();
  progress.lines_read = lines->lines_read();
  for (const auto& [name, value] : lines->values()) {
    if (std::ranges::find(progress.metrics, name, &wire::Metric::name) == progress.metrics.end()) {
      progress.metrics.push_back({name, value});
    }
  }
  return progress;
}

}  // namespace robustrun::agent
