#pragma once
// A number and where it comes from. Everything that a simulated job's ETTR rests on is one of
// these, so that whoever reads the result can see what of it is known. Plain data.

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
  kMeasured,   // on a machine of ours, at small scale (docs/figures.md)
  kPublished,  // in the paper that `source` names
  kAssumed,    // nobody says; `source` says why this
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
