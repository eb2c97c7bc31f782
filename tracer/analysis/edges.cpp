#include "tracer/analysis/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/result.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

std::string node_of(const FleetView& view, base::Rank rank) {
  const std::optional<std::uint32_t> at = view.find(rank);
  return at ? view.rank(*at).node : "";
}

std::string rank_text(const FleetView& view, base::Rank rank) {
  const std::optional<std::uint32_t> at = view.find(rank);
  return at ? ranks_text(view, {*at}) : fmt::format("rank {}", rank.value);
}

}  // namespace

Common common_of(const FleetView& view, const std::vector<Edge>& edges) {
  Common common;
  std::set<Edge> pairs;  // a link counts once, in either direction
  for (const Edge& edge : edges)
    pairs.insert({std::min(edge.from, edge.to), std::max(edge.from, edge.to)});
  if (pairs.size() < 2) return common;
  for (const base::Rank rank : {edges.front().from, edges.front().to}) {
    const auto touches = [&](const Edge& e) { return e.from == rank || e.to == rank; };
    if (std::ranges::all_of(edges, touches)) common.ranks.push_back(rank);
  }
  for (const base::Rank rank : {edges.front().from, edges.front().to}) {
    const std::string node = node_of(view, rank);
    const auto touches = [&](const Edge& e) {
      return (node_of(view, e.from) == node) != (node_of(view, e.to) == node);
    };
    if (!node.empty() && std::ranges::all_of(edges, touches)) common.nodes.push_back(node);
  }
  if (common.ranks.size() > 1) common.ranks.clear();
  if (common.nodes.size() > 1) common.nodes.clear();
  return common;
}

std::string edges_text(const FleetView& view, const std::vector<Edge>& edges,
                       const Common& common) {
  RR_ASSERT(!edges.empty());
  const Edge& first = edges.front();
  if (!common.ranks.empty()) {
    return fmt::format("all {} links of {}", edges.size(), rank_text(view, common.ranks.front()));
  }
  if (!common.nodes.empty())
    return fmt::format("{} links of {}", edges.size(), common.nodes.front());
  std::string text =
      fmt::format("the link from {} to {}", rank_text(view, first.from), rank_text(view, first.to));
  if (edges.size() > 1) text += fmt::format(" and {} more", edges.size() - 1);
  return text;
}

EdgeBlame blame_edges(const Case& facts, Finding finding, const Wait& wait,
                      std::vector<Edge> edges) {
  RR_ASSERT(!edges.empty());
  const FleetView& view = facts.view;
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  const Common common = common_of(view, edges);
  std::vector<Blame> ends;
  for (const Edge& edge : edges) {
    for (const base::Rank rank : {edge.from, edge.to}) {
      const std::optional<std::uint32_t> at = view.find(rank);
      const auto is_same = [&](const Blame& b) { return at && b.at == *at; };
      if (!at || std::ranges::any_of(ends, is_same)) continue;
      Blame blame;
      blame.at = *at;
      blame.comm = wait.comm;
      blame.ordinal = wait.ordinal;
      blame.signature = wait.signature;
      blame.age = wait.age;
      ends.push_back(blame);
    }
  }
  EdgeBlame made;
  made.accusation = accuse(facts, finding, ends);
  made.what = edges_text(view, edges, common);
  made.is_several = edges.size() > 1;
  made.accusation.culprits.clear();
  for (const base::Rank rank : common.ranks) {
    if (const auto at = view.find(rank)) made.accusation.culprits.push_back(*at);
  }
  Verdict& verdict = made.accusation.verdict;
  verdict.culprits = common.ranks;
  if (!common.ranks.empty()) verdict.nodes = nodes_of(view, made.accusation.culprits);
  if (common.ranks.empty() && !common.nodes.empty()) verdict.nodes = common.nodes;
  verdict.edges = edges;
  add_members(facts, wait.comm, made.accusation);
  return made;
}

Verdict slow_edges(const FleetView& view, std::vector<Edge> edges, std::vector<std::string> lines,
                   std::string_view how) {
  RR_ASSERT(!edges.empty());
  Verdict verdict;
  verdict.finding = Finding::kSlowLink;
  verdict.confidence = Confidence::kMajority;
  std::ranges::sort(edges);
  verdict.edges = std::move(edges);
  if (lines.size() > kEvidenceLines) lines.resize(kEvidenceLines);
  verdict.evidence = std::move(lines);
  const Common common = common_of(view, verdict.edges);
  verdict.culprits = common.ranks;
  verdict.nodes = common.nodes;
  if (!common.ranks.empty()) {
    verdict.nodes = nodes_of(view, {*view.find(common.ranks.front())});
  } else if (common.nodes.empty()) {
    std::vector<std::uint32_t> ends;
    for (const Edge& edge : verdict.edges) {
      for (const base::Rank rank : {edge.from, edge.to}) ends.push_back(*view.find(rank));
    }
    verdict.nodes = nodes_of(view, ends);
  }
  verdict.sentence = fmt::format("{} {} slow: {}", edges_text(view, verdict.edges, common),
                                 verdict.edges.size() > 1 ? "are" : "is", how);
  return verdict;
}

}  // namespace robustrun::tracer
