// R8: the time that a byte spends in transit, compared among links of one kind: within a node, or
// between nodes. If several slow links share a rank or a node, that is the culprit.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "tracer/analysis/edges.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/statistics.h"

namespace robustrun::tracer {
namespace {

struct Link {
  Edge edge;
  double bytes = 0;
  double wait_ns = 0;
  [[nodiscard]] double cost() const { return wait_ns / bytes; }
};

// All links with enough traffic, over all communicators; [0] within a node, [1] between nodes.
std::array<std::vector<Link>, 2> links_of(const FleetView& view) {
  std::map<Edge, Link> sums;
  for (const Communicator& comm : view.comms()) {
    for (const Member& member : comm.members) {
      const base::Rank from = view.rank(member.at).rank;
      for (const EdgeTime& time : member.view->edges) {
        const Member* const peer = comm.find(time.peer);
        if (peer == nullptr || peer->at == member.at || time.net_wait < base::Nanos{0}) continue;
        Link& link = sums[{from, view.rank(peer->at).rank}];
        link.edge = {from, view.rank(peer->at).rank};
        link.bytes += static_cast<double>(time.bytes);
        link.wait_ns += static_cast<double>(time.net_wait.count());
      }
    }
  }
  std::array<std::vector<Link>, 2> links;
  for (const auto& [edge, link] : sums) {
    if (link.bytes < static_cast<double>(kEdgeBytesLeast)) continue;
    const std::string& from = view.rank(*view.find(edge.from)).node;
    const std::string& to = view.rank(*view.find(edge.to)).node;
    links[from == to ? 0 : 1].push_back(link);
  }
  return links;
}

struct Bad {
  std::vector<Link> links;
  double usual = 0;  // ns per byte
};

Bad bad_links(const std::vector<Link>& links) {
  if (links.size() < kEdgesLeast) return {};
  std::vector<double> costs;
  for (const Link& link : links) costs.push_back(link.cost());
  Bad bad;
  bad.usual = median(costs);
  const double limit =
      std::max(bad.usual * kSlowEdgeFactor, bad.usual + kDeviations * deviation(costs));
  for (const Link& link : links) {
    if (link.cost() > limit) bad.links.push_back(link);
  }
  return bad;
}

}  // namespace

std::optional<Verdict> rule_slow_link(const Case& facts) {
  Bad worst;
  for (const std::vector<Link>& links : links_of(facts.view)) {
    Bad bad = bad_links(links);
    if (bad.links.size() > worst.links.size()) worst = std::move(bad);
  }
  if (worst.links.empty()) return std::nullopt;
  std::ranges::sort(worst.links, std::greater{}, &Link::cost);
  const Link slowest = worst.links.front();
  std::vector<Edge> edges;
  std::vector<std::string> lines;
  for (const Link& link : worst.links) {
    edges.push_back(link.edge);
    lines.push_back(fmt::format(
        "rank {} to rank {}: {:.2f} ns per byte over {}, {:.2f} on most links of its kind",
        link.edge.from.value, link.edge.to.value, link.cost(),
        amount_text(static_cast<std::uint64_t>(link.bytes)), worst.usual));
  }
  return slow_edges(facts.view, std::move(edges), std::move(lines),
                    fmt::format("{:.2f} ns per byte, {:.2f} on most links of its kind",
                                slowest.cost(), worst.usual));
}

}  // namespace robustrun::tracer
