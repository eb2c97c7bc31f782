#include "supervisor/core/report/metric_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/core/clock.h"
#include "base/core/words.h"

namespace robustrun::supervisor {
namespace {

struct KnownMetric {
  std::string_view name;
  std::string_view title;
  std::string_view before;  // of the number
  std::string_view after;
  base::Nanos unit{};  // 0: not a time
};

constexpr std::array kKnownMetrics = {
    KnownMetric{"save_blocked_ms", "last save blocked, ms", "last save blocked ", "",
                std::chrono::milliseconds(1)},
    KnownMetric{"save_blocked_s", "all saves blocked, s", "all saves blocked ", "",
                std::chrono::seconds(1)},
    KnownMetric{"steps_total", "steps in all", "of ", " steps"},
    KnownMetric{"tokens_per_s", "tokens/s", "", " tokens/s"},
    KnownMetric{"tokens_per_s_per_gpu", "tokens/s per GPU", "", " tokens/s per GPU"},
    KnownMetric{"grad_norm", "gradient norm", "gradient norm ", ""},
    KnownMetric{"mfu", "MFU", "MFU ", ""},
};

const KnownMetric* known_metric(std::string_view name) {
  const auto* const known = std::ranges::find(kKnownMetrics, name, &KnownMetric::name);
  return known == kKnownMetrics.end() ? nullptr : known;
}

// A value from outside may be anything.
bool is_known_time(double value, base::Nanos unit) {
  constexpr double kNanosMax = 9e18;
  return unit > base::Nanos{} && value >= 0 &&
         value * static_cast<double>(unit.count()) < kNanosMax;
}

}  // namespace

std::string metric_words(const wire::Metric& metric) {
  const KnownMetric* const known = known_metric(metric.name);
  if (known == nullptr) return fmt::format("{} {:.6g}", metric.name, metric.value);
  if (is_known_time(metric.value, known->unit)) {
    const double nanos = metric.value * static_cast<double>(known->unit.count());
    return fmt::format("{}{}", known->before,
                       base::duration_words(base::Nanos(static_cast<std::int64_t>(nanos))));
  }
  return fmt::format("{}{:.6g}{}", known->before, metric.value, known->after);
}

std::string_view metric_title(std::string_view name) {
  const KnownMetric* const known = known_metric(name);
  return known == nullptr ? name : known->title;
}

}  // namespace robustrun::supervisor
