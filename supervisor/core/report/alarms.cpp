#include "supervisor/core/report/alarms.h"

#include <fmt/core.h>

#include "base/core/words.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/types/metric_alarm.h"

namespace robustrun::supervisor {

std::vector<AlarmReport> alarm_reports(const Facts& facts) {
  std::vector<AlarmReport> alarms;
  for (const auto& [at, body] : facts.alarms) {
    alarms.push_back({body->attempt.value, elapsed(facts.first_at, at), body->name, body->kind,
                      body->value, body->usual, body->over, in_words(*body)});
  }
  return alarms;
}

std::string alarm_words(const AlarmReport& alarm) {
  return fmt::format("{} after the start: {}", base::duration_words(alarm.at), alarm.text);
}

}  // namespace robustrun::supervisor
