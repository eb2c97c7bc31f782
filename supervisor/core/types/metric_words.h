#pragma once
// An alarm of metric_watch.h in words, and which row of the table of faults it asks for. Pure.

#include <string>

#include "supervisor/core/types/metric_alarm.h"

namespace robustrun::supervisor {

// "loss is not a number: nan, 3 readings in a row, usual 2.31"
[[nodiscard]] std::string in_words(const MetricAlarm& alarm);
// As faults.toml's `found` calls it: "not a number", "jump", "slower".
[[nodiscard]] const char* found_word(MetricAlarm::Kind kind);

}  // namespace robustrun::supervisor
