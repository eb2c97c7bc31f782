#pragma once
// What was noticed in the job's own numbers, as an event: the shell reads what rank 0 reports and
// lets metric_watch.h judge, the core decides what follows.

#include <cstdint>
#include <string>

#include "base/core/ids.h"

namespace robustrun::supervisor {

struct MetricAlarm {
  enum class Kind : std::uint8_t {
    kNotANumber,  // NaN or infinite
    kJump,        // many times what it was
    kSlower,      // the job does less in its time
  };
  base::Attempt attempt;
  std::string name;  // as the script calls it; kStepsPerSecond
  Kind kind = Kind::kNotANumber;
  double value = 0;            // the newest that led to this
  double usual = 0;            // median of the job's own history; 0: there is none yet
  std::uint32_t readings = 0;  // in a row, that led to this
  bool over = false;           // it is as usual again
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "name", name);
    v(3, "kind", kind);
    v(4, "value", value);
    v(5, "usual", usual);
    v(6, "readings", readings);
    v(7, "over", over);
  }
};

inline constexpr const char* kStepsPerSecond = "steps per second";

}  // namespace robustrun::supervisor
