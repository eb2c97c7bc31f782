// R12: all scripts have returned, some processes have ended, or all linger, and no rank waits for
// another: a thread or an exit handler keeps the processes that are left. Known case: a destructor
// of torch's gloo group joins a thread that wants the interpreter's lock, which it holds itself.

#include <fmt/format.h>

#include <algorithm>

#include "base/core/words.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/wait_edges.h"

namespace robustrun::tracer {

std::optional<Verdict> rule_not_ended(const Case& facts) {
  const FleetView& view = facts.view;
  if (!facts.graph.waits().empty()) return std::nullopt;
  std::vector<Blame> blames;
  std::vector<std::uint32_t> ended;
  base::Nanos lasting = base::Nanos::max();
  bool is_finished = true;
  bool is_moving = false;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    const RankSnapshot& rank = view.rank(at);
    if (view.is_dead(at)) {
      if (!rank.ended_well) return std::nullopt;
      ended.push_back(at);
      continue;
    }
    if (!rank.returned) return std::nullopt;
    lasting = std::min(lasting, *rank.returned);
    is_finished = is_finished && rank.finished.has_value();
    is_moving = is_moving || !rank.evidence.has_process;  // it was not seen to do nothing
    blames.push_back({at, Guilt::kAbsent, 0, 0, {}, kNoWait});
  }
  if (blames.empty() || lasting < kLateEnd) return std::nullopt;
  Accusation made = accuse(facts, Finding::kNotEnded, std::move(blames));
  Verdict& verdict = made.verdict;
  const bool all_seen = view.rank_count() >= view.fleet().world_size;
  verdict.confidence = all_seen ? Confidence::kExact : Confidence::kInferred;
  verdict.lasting = lasting;
  verdict.is_finished = is_finished;
  verdict.is_moving = verdict.is_moving || is_moving;
  verdict.sentence =
      fmt::format("{} {} not ended, {} after {} returned", made.named, made.choose("has", "have"),
                  base::rough_duration_words(lasting), made.choose("its script", "their scripts"));
  if (is_finished) {
    verdict.sentence += fmt::format(" and {} exit handlers had run", made.choose("its", "their"));
  }
  verdict.sentence += whereabouts_text(facts, made);
  if (!ended.empty()) {
    verdict.sentence += fmt::format(
        "; {} ended", ended.size() == 1 ? "the other rank has"
                                        : fmt::format("the other {} ranks have", ended.size()));
  }
  return verdict;
}

}  // namespace robustrun::tracer
