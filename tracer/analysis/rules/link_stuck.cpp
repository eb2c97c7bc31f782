// R4b: all members are inside; data has left one rank and does not arrive at another, which is
// ready for it. Without flows (gloo): TCP retransmits a segment that is not acknowledged. If the
// peer process merely did not read, its kernel would acknowledge it.

#include <fmt/format.h>

#include "base/core/words.h"
#include "tracer/analysis/edges.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/stuck_links.h"

namespace robustrun::tracer {

std::optional<Verdict> rule_link_stuck(const Case& facts) {
  const std::optional<StuckLinks> links = stuck_links(facts);
  if (!links) return std::nullopt;
  std::vector<Edge> edges;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < links->edges.size(); ++i) {
    if (links->edges[i].from == links->edges[i].to) continue;
    edges.push_back(links->edges[i]);
    lines.push_back(links->lines[i]);
  }
  if (edges.empty()) return std::nullopt;
  EdgeBlame blame = blame_edges(facts, Finding::kLinkStuck, *links->wait, edges);
  Verdict& verdict = blame.accusation.verdict;
  if (!links->is_proved) verdict.confidence = Confidence::kInferred;
  verdict.sentence =
      fmt::format("{} {} stuck in {} for {}", blame.what, blame.is(), blame.accusation.operation,
                  base::rough_duration_words(links->wait->age)) +
      waiting_text(facts, blame.accusation);
  verdict.evidence.insert(verdict.evidence.begin(), lines.begin(), lines.end());
  return verdict;
}

}  // namespace robustrun::tracer
