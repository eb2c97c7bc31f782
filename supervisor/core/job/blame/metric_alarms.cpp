#include "supervisor/core/job/blame/metric_alarms.h"

#include <fmt/core.h>

#include <utility>

#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/metric_alarm.h"

namespace robustrun::supervisor {

// Alarms are reported; they stop the workers only if the policy says so. An alarm alone never ends
// the run: without a restart left the run goes on.
void MetricAlarms::heard(const Event& event) {
  const auto& alarm = body<MetricAlarm>(event);
  const std::string text = in_words(alarm);
  if (alarm.over) return orders_.decide(Rule::kMetricAlarm, text);
  Classification looks = classify_finding(to_string(alarm.kind),
                                          fmt::format("\"{}\" (rank 0)", text), run_.spec.faults);
  const Policy& policy = run_.spec.policy;
  const bool acts = (alarm.kind == MetricAlarm::Kind::kNotANumber && policy.acts_on_nan) ||
                    (alarm.kind == MetricAlarm::Kind::kJump && policy.acts_on_jump);
  std::vector<std::string> alternatives;
  if (acts && acted_on_ >= policy.alarms_acted_on) {
    alternatives.push_back(fmt::format("stop and look for the cause: was done {} in this run",
                                       base::counted(acted_on_, "time")));
  } else if (acts && !restarts_.budget().allows(FaultClass::kUser)) {
    alternatives.emplace_back("stop and look for the cause: no restart is left");
  } else if (acts) {
    ++acted_on_;
    return moves_.break_down({FaultClass::kUser,
                              Rule::kMetricFault,
                              kExitFailure,
                              run_.unix_seconds(orders_.now()),
                              fmt::format("metric {}", alarm.name),
                              text,
                              std::move(looks),
                              {}});
  }
  orders_.decide(Rule::kMetricAlarm, text, {}, std::move(alternatives), std::move(looks));
}

}  // namespace robustrun::supervisor
