#include "supervisor/watch/copies_watch.h"

namespace robustrun::supervisor {

void CopiesWatch::begin_attempt(base::Attempt attempt, std::uint32_t world_size) {
  attempt_ = attempt;
  known_.assign(world_size, {});
}

std::optional<CopiesKept> CopiesWatch::take(const wire::CopiesKept& report) {
  if (report.attempt != attempt_) return std::nullopt;
  CopiesKept news{attempt_, {}};
  for (const wire::KeptCopy& copy : report.copies) {
    if (copy.rank.value >= known_.size()) continue;
    KeptCopy& known = known_[copy.rank.value];
    const bool is_known = known.here == copy.here && known.at_peer == copy.at_peer;
    if (is_known) continue;
    known = copy;
    known.part.reset();  // no fact of the journal
    news.copies.push_back(known);
  }
  if (news.copies.empty()) return std::nullopt;
  return news;
}

}  // namespace robustrun::supervisor
