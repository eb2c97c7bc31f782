// R8b: a link is stuck, and a network interface is down at one of its ends. rule_interface_down: no
// link is seen to be stuck, but an operation that all have entered does not complete, and an
// interface is down. Interfaces that are down on every node are not in use and are ignored.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/core/words.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/stuck_links.h"
#include "tracer/analysis/transport.h"

namespace robustrun::tracer {
namespace {

using Reports = std::map<std::string, std::set<std::string>>;  // node -> lines

// The reports of the members' nodes. With several nodes, lines that all of them have in common are
// left out.
Reports reports_of(const FleetView& view, const Communicator& comm) {
  Reports reports;
  std::map<std::string, std::size_t> nodes_with;
  for (const Member& member : comm.members) {
    const RankSnapshot& rank = view.rank(member.at);
    std::set<std::string>& lines = reports[rank.node];
    for (const std::string& line : rank.evidence.network) {
      if (lines.insert(line).second) ++nodes_with[line];
    }
  }
  const std::size_t nodes = reports.size();
  if (nodes > 1) {
    for (auto& [node, lines] : reports) {
      std::erase_if(lines, [&](const std::string& line) { return nodes_with[line] == nodes; });
    }
  }
  std::erase_if(reports, [](const auto& row) { return row.second.empty(); });
  return reports;
}

Blame blame_of(const Wait& wait, std::uint32_t at) {
  Blame blame;
  blame.at = at;
  blame.comm = wait.comm;
  blame.ordinal = wait.ordinal;
  blame.signature = wait.signature;
  blame.age = wait.age;
  return blame;
}

void add_words(const Case& facts, const Wait& wait, const Reports& reports, Accusation& made) {
  Verdict& verdict = made.verdict;
  verdict.nodes.clear();
  std::vector<std::string> lines;
  for (const auto& [node, said] : reports) {
    verdict.nodes.push_back(node);
    for (const std::string& line : said) lines.push_back(fmt::format("{}: {}", node, line));
  }
  verdict.sentence = fmt::format("{}; {} has made no progress for {}", lines.front(),
                                 made.operation, base::rough_duration_words(wait.age)) +
                     waiting_text(facts, made);
  verdict.evidence.insert(verdict.evidence.begin(), lines.begin(), lines.end());
}

}  // namespace

std::optional<Verdict> rule_link_down(const Case& facts) {
  const std::optional<StuckLinks> links = stuck_links(facts);
  if (!links) return std::nullopt;
  Reports reports = reports_of(facts.view, facts.view.comms()[links->wait->comm]);
  std::vector<Edge> edges;
  std::vector<std::uint32_t> ends;  // ends of stuck links on nodes with reports
  for (const Edge& edge : links->edges) {
    for (const base::Rank rank : {edge.from, edge.to}) {
      const std::optional<std::uint32_t> at = facts.view.find(rank);
      if (!at || !reports.contains(facts.view.rank(*at).node)) continue;
      ends.push_back(*at);
      edges.push_back(edge);
    }
  }
  if (edges.empty()) return std::nullopt;
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  // An interface that is down on another node has to do with no stuck link.
  std::erase_if(reports, [&](const auto& row) {
    return std::ranges::none_of(
        ends, [&](std::uint32_t at) { return facts.view.rank(at).node == row.first; });
  });
  std::vector<Blame> blames;
  for (const std::uint32_t at : ends) blames.push_back(blame_of(*links->wait, at));
  Accusation made = accuse(facts, Finding::kLinkDown, blames);
  add_members(facts, links->wait->comm, made);
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  made.verdict.edges = edges;
  add_words(facts, *links->wait, reports, made);
  return made.verdict;
}

std::optional<Verdict> rule_interface_down(const Case& facts) {
  // If flows are known, they would show a stuck link.
  if (stuck_transport(facts)) return std::nullopt;
  const Wait* const wait = wait_of_all(facts);
  if (wait == nullptr) return std::nullopt;
  const Reports reports = reports_of(facts.view, facts.view.comms()[wait->comm]);
  if (reports.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kLinkDown, {blame_of(*wait, wait->at)});
  made.culprits.clear();
  made.verdict.culprits.clear();
  made.verdict.confidence = Confidence::kInferred;
  add_members(facts, wait->comm, made);
  add_words(facts, *wait, reports, made);
  return made.verdict;
}

}  // namespace robustrun::tracer
