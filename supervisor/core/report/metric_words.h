#pragma once
// The metrics that a job reports, in words and units. Metrics of robustrun itself and of the
// shipped log formats (docs/metrics.md) have words of their own; others keep the name that the
// script gave them. Pure.

#include <string>
#include <string_view>

#include "wire/messages/facts.h"

namespace robustrun::supervisor {

// "last save blocked 12.3 ms", "of 900 steps", "lr 0.001"
[[nodiscard]] std::string metric_words(const wire::Metric& metric);
// The title of a chart: "last save blocked, ms", "lr"
[[nodiscard]] std::string_view metric_title(std::string_view name);

}  // namespace robustrun::supervisor
