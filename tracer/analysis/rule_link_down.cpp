// R8b: a stuck link, or an operation that all have entered and nobody leaves, and a network
// interface that is down on one side of it. What every node reports is how the machines are wired.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tracer/analysis/edges.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/transport.h"

namespace robustrun::tracer {
namespace {

using Reports = std::map<std::string, std::set<std::string>>;  // node -> lines

// Without the lines that all nodes have in common, when there are several nodes.
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

}  // namespace

std::optional<Verdict> rule_link_down(const Case& facts) {
  const std::optional<Transport> transport = stuck_transport(facts);
  const Wait* const wait = transport ? &transport->wait() : wait_of_all(facts);
  if (wait == nullptr) return std::nullopt;
  const Reports reports = reports_of(facts.view, facts.view.comms()[wait->comm]);
  if (reports.empty()) return std::nullopt;

  std::vector<Edge> edges;
  std::vector<std::uint32_t> ends;  // of stuck links, on a node that reports
  if (transport) {
    for (const FlowAt& flow : stuck_sends(*transport)) {
      const Edge edge = edge_of(facts, *transport, flow);
      for (const base::Rank rank : {edge.from, edge.to}) {
        const std::uint32_t at = facts.view.find(rank).value_or(flow.member->at);
        if (!reports.contains(facts.view.rank(at).node)) continue;
        ends.push_back(at);
        edges.push_back(edge);
      }
    }
    if (edges.empty()) return std::nullopt;
  }
  std::vector<Blame> blames;
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  if (!transport) ends.push_back(wait->at);  // for the operation; nobody is accused
  for (const std::uint32_t at : ends) {
    Blame blame;
    blame.at = at;
    blame.comm = wait->comm;
    blame.ordinal = wait->ordinal;
    blame.signature = wait->signature;
    blame.age = wait->age;
    blames.push_back(blame);
  }
  Accusation made = accuse(facts, Finding::kLinkDown, blames);
  Verdict& verdict = made.verdict;
  if (!transport) {
    made.culprits.clear();
    verdict.culprits.clear();
    verdict.confidence = Confidence::kInferred;
  }
  add_members(facts, wait->comm, made);
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  verdict.edges = edges;
  verdict.nodes.clear();
  std::vector<std::string> lines;
  for (const auto& [node, said] : reports) {
    verdict.nodes.push_back(node);
    for (const std::string& line : said) lines.push_back(fmt::format("{}: {}", node, line));
  }
  verdict.sentence = fmt::format("{}; {} does not move for {}", lines.front(), made.operation,
                                 duration_text(wait->age)) +
                     waiting_text(facts, made);
  verdict.evidence.insert(verdict.evidence.begin(), lines.begin(), lines.end());
  return verdict;
}

}  // namespace robustrun::tracer
