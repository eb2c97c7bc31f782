#include "supervisor/core/report/hang.h"

#include <fmt/core.h>

#include "base/core/words.h"
#include "supervisor/core/report/facts.h"

namespace robustrun::supervisor {

const char* stage_word(Diagnosed::Stage stage) {
  return stage == Diagnosed::Stage::kConvicted ? "confirmed" : to_string(stage);
}

std::vector<HangReport> hang_reports(const Facts& facts) {
  std::vector<HangReport> hangs;
  for (const auto& [at, body] : facts.diagnoses) {
    const tracer::Verdict& verdict = body->verdict;
    if (verdict.finding == tracer::Finding::kNothing) continue;
    HangReport& hang = hangs.emplace_back();
    hang.attempt = body->attempt.value;
    hang.at = elapsed(facts.first_at, at);
    hang.stage = body->stage;
    hang.finding = verdict.finding;
    for (const base::Rank rank : verdict.culprits) hang.culprits.push_back(rank.value);
    hang.text = verdict.sentence;
  }
  return hangs;
}

std::string hang_words(const HangReport& hang) {
  return fmt::format("{} {} after the start: {}", stage_word(hang.stage),
                     base::duration_words(hang.at), hang.text);
}

}  // namespace robustrun::supervisor
