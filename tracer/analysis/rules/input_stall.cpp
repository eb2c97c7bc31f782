// R9: all absent ranks without a long phase as an excuse wait for their data loaders.

#include <fmt/format.h>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {

std::optional<Verdict> rule_input_stall(const Case& facts) {
  const Absent absent = sort_absent(facts);
  if (absent.loader.empty() || !absent.plain.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kInputStall, absent.loader);
  made.verdict.sentence =
      fmt::format("{} {} not entered {}{}", made.named, made.choose("has", "have"), made.operation,
                  for_text(made.age)) +
      whereabouts_text(facts, made) + waiting_text(facts, made);
  return made.verdict;
}

}  // namespace robustrun::tracer
