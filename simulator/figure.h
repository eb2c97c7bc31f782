#pragma once
// A number and its source. Everything that a simulated job's ETTR rests on is such a figure, so
// that readers can judge the result. Plain data.

#include <cstdint>
#include <string>

#include "base/core/clock.h"

namespace robustrun::simulator {

using base::Nanos;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

enum class Origin : std::uint8_t {
  kMeasured,   // on our own machines, at small scale (docs/figures.md), or in journals (site.h)
  kPublished,  // in the paper that `source` names
  kAssumed,    // without a source; `source` gives the reason
  kGiven,      // by the user
};

inline const char* to_string(Origin origin) {
  switch (origin) {
    case Origin::kMeasured: return "measured";
    case Origin::kPublished: return "published";
    case Origin::kAssumed: return "assumed";
    case Origin::kGiven: return "given";
  }
  return "unknown";
}

template <class T>
struct Figure {
  T value{};
  Origin origin = Origin::kAssumed;
  std::string source;
};

inline double in_seconds(Nanos time) { return std::chrono::duration<double>(time).count(); }
inline Nanos from_seconds(double time) {
  return std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(time));
}

}  // namespace robustrun::simulator
