#pragma once
// Hangs in the report of a run. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/diagnosis.h"

namespace robustrun::supervisor {

struct Facts;

// One diagnosis: workers wait for each other, or are slow.
struct HangReport {
  std::uint32_t attempt = 0;
  base::Nanos at{};        // since the run's start
  Diagnosed::Stage stage = Diagnosed::Stage::kSuspected;
  tracer::Finding finding = tracer::Finding::kNothing;
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

// All hangs in the journal, in order.
[[nodiscard]] std::vector<HangReport> hang_reports(const Facts& facts);
// A stage as people read it: "confirmed".
[[nodiscard]] const char* stage_word(Diagnosed::Stage stage);
// "confirmed 12.3 s after the start: …"
[[nodiscard]] std::string hang_words(const HangReport& hang);

}  // namespace robustrun::supervisor
