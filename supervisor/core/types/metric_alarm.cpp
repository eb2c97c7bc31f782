#include "supervisor/core/types/metric_alarm.h"

#include <fmt/core.h>

#include "base/core/text.h"

namespace robustrun::supervisor {

const char* to_string(MetricAlarm::Kind kind) {
  switch (kind) {
    case MetricAlarm::Kind::kNotANumber: return "not a number";
    case MetricAlarm::Kind::kJump: return "jump";
    case MetricAlarm::Kind::kSlower: return "slower";
  }
  return "unknown";  // of a newer version
}

std::string in_words(const MetricAlarm& alarm) {
  const std::string name = base::printable(alarm.name);
  if (alarm.over && alarm.kind == MetricAlarm::Kind::kNotANumber) {
    return fmt::format("{} is a number again: {:.4g}", name, alarm.value);
  }
  if (alarm.over) {
    return fmt::format("{} is as usual again: {:.4g}, usual {:.4g}", name, alarm.value,
                       alarm.usual);
  }
  switch (alarm.kind) {
    case MetricAlarm::Kind::kNotANumber:
      return fmt::format("{} is not a number: {}, {} readings in a row{}", name, alarm.value,
                         alarm.readings,
                         alarm.usual == 0 ? "" : fmt::format(", usual {:.4g}", alarm.usual));
    case MetricAlarm::Kind::kJump:
      return fmt::format("{} jumped to {:.4g}, {:.1f} times its usual {:.4g}, {} readings in a row",
                         name, alarm.value, alarm.value / alarm.usual, alarm.usual, alarm.readings);
    case MetricAlarm::Kind::kSlower:
      return fmt::format("{} fell to {:.4g} from {:.4g}, {} readings in a row", name, alarm.value,
                         alarm.usual, alarm.readings);
  }
  return name;
}

}  // namespace robustrun::supervisor
