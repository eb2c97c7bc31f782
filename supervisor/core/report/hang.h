#pragma once
// Hangs in the report of a run. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;

// Workers that waited for each other, as it was said when it was found out.
struct HangReport {
  std::uint32_t attempt = 0;
  base::Nanos at{};        // after the start
  // "suspected", "convicted", "passed"; "post-mortem": found out after a worker had failed
  std::string stage;
  std::string finding;     // "never entered", …
  std::vector<std::uint32_t> culprits;  // ranks
  std::string text;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "at", at);
    v(3, "stage", stage);
    v(4, "finding", finding);
    v(5, "culprits", culprits);
    v(6, "text", text);
  }
};

// All of the journal, in order.
[[nodiscard]] std::vector<HangReport> hang_reports(const Facts& facts);
// "12.3 s after the start: hang: …"
[[nodiscard]] std::string hang_words(const HangReport& hang);

}  // namespace robustrun::supervisor
