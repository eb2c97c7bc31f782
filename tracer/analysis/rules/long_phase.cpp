// R10: the absent ranks are in a phase that legitimately takes long: a checkpoint, an evaluation, a
// first compilation. Not a fault; the time-out is longer.

#include <fmt/format.h>

#include <algorithm>

#include "base/core/words.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {

std::optional<Verdict> rule_long_phase(const Case& facts) {
  const std::vector<Blame> blames = sort_absent(facts).phase;
  if (blames.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kLongPhase, blames);
  const std::uint32_t first = made.culprits.front();
  made.verdict.sentence = fmt::format("{} {} busy with {}", made.named, made.choose("is", "are"),
                                      words_of(facts.where[first].reason));
  if (const std::string place = place_text(facts.where[first]); !place.empty()) {
    made.verdict.sentence += " in " + place;
  }
  made.verdict.sentence += fmt::format(" and {} not entered {}{}", made.choose("has", "have"),
                                       made.operation, for_text(made.age)) +
                           waiting_text(facts, made) + "; this may be normal";
  return made.verdict;
}

namespace {

// What all ranks, none of which is inside an operation, have in common.
struct Together {
  std::string what;  // "checkpoint", "load (train.py:87), data loader"; empty: nothing
  bool is_phase = false;
};

Together together(const Case& facts) {
  const Reason reason = facts.where[0].reason;
  const bool is_same =
      reason != Reason::kUnknown && reason != Reason::kUserCode &&
      std::ranges::all_of(facts.where, [&](const Whereabouts& w) { return w.reason == reason; });
  if (!is_same) return {};
  if (is_long_phase(reason)) return {std::string(words_of(reason)), true};
  return {describe(facts.where[0]), false};
}

}  // namespace

std::optional<Verdict> rule_all_outside(const Case& facts) {
  const FleetView& view = facts.view;
  if (!facts.graph.waits().empty() || view.rank_count() == 0) return std::nullopt;
  Verdict verdict;
  std::vector<std::uint32_t> all;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    all.push_back(at);
    verdict.is_moving |= is_moving(view.rank(at).evidence);
    verdict.lasting = std::max(verdict.lasting, view.rank(at).step_age.value_or(base::Nanos{0}));
  }
  const auto [what, is_phase] = together(facts);
  // Without any communicator, only stacks show anything.
  const std::string outliers = view.comms().empty() ? outliers_text(facts) : "";
  if (what.empty() && outliers.empty()) return std::nullopt;
  const bool all_seen = view.rank_count() >= view.fleet().world_size;
  verdict.finding = is_phase ? Finding::kLongPhase : Finding::kUndecided;
  verdict.confidence = is_phase && all_seen ? Confidence::kExact : Confidence::kInferred;
  if (is_phase) verdict.culprits = global_ranks(view, all);
  if (is_phase) verdict.nodes = nodes_of(view, all);
  verdict.sentence = what.empty()
                         ? outliers
                         : fmt::format("all {} ranks are outside any recorded operation, in {}{}",
                                       all.size(), what, data_wait_text(facts, all));
  if (std::string stacks = stacks_text(facts); !stacks.empty()) {
    verdict.evidence.push_back(std::move(stacks));
  }
  if (verdict.lasting > base::Nanos{0}) {
    verdict.sentence +=
        fmt::format("; the last step was {} ago", base::rough_duration_words(verdict.lasting));
  }
  return verdict;
}

}  // namespace robustrun::tracer
