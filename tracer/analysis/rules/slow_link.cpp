// R8: the time that a byte spends in transit, of the last seconds where that is known. It is
// compared with the link's own history, and among links of one kind: within a node, or between
// nodes. If several slow links share a rank or a node, that is the culprit.
//
// In a ring every rank slows down with the slowest link, and all kernels take equally long. Only on
// the slow link do bytes spend longer in transit: on the others they wait before they are sent,
// which does not count. What slows all links down, such as longer messages, blames none of them.

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
  bool has_history = true;
  double usual_ns = 0;  // what the same bytes took before; 0: unknown
  [[nodiscard]] double cost() const { return wait_ns / bytes; }
  [[nodiscard]] double change() const { return wait_ns / usual_ns; }
};

// The traffic of the last seconds if there was enough, else all of it.
void add(const EdgeTime& time, Link& link) {
  const bool is_recent = time.recent_bytes >= kEdgeBytesLeast && time.recent_wait > base::Nanos{0};
  const auto bytes = static_cast<double>(is_recent ? time.recent_bytes : time.bytes);
  const base::Nanos wait = is_recent ? time.recent_wait : time.net_wait;
  link.bytes += bytes;
  link.wait_ns += static_cast<double>(wait.count());
  if (is_recent && time.usual > 0) link.usual_ns += bytes * time.usual;
  if (!is_recent || time.usual <= 0) link.has_history = false;
}

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
        add(time, link);
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
  bool is_by_history = false;
  std::size_t compared = 0;  // by history
};

// Links that have become slower, while others have not. Of a rank in a small ring that may be most
// links, so the better quarter shows what is usual now.
Bad fallen_links(const std::vector<Link>& links) {
  std::vector<double> changes;
  for (const Link& link : links) {
    if (link.has_history && link.usual_ns > 0) changes.push_back(link.change());
  }
  if (changes.size() < 2) return {};
  std::ranges::sort(changes);
  const double usual = changes[changes.size() / 4];
  const double limit = std::max(kFallenFactor, kFallenFactor * usual);
  Bad bad;
  bad.is_by_history = true;
  bad.compared = changes.size();
  for (const Link& link : links) {
    if (link.has_history && link.usual_ns > 0 && link.change() > limit) bad.links.push_back(link);
  }
  return bad;
}

// Half of the links or more, which share no rank and no node: then it is not the fault of some.
bool is_everywhere(const FleetView& view, const Bad& bad) {
  if (bad.links.size() * 2 < bad.compared || bad.links.size() < 2) return false;
  std::vector<Edge> edges;
  for (const Link& link : bad.links) edges.push_back(link.edge);
  const Common common = common_of(view, edges);
  return bad.is_by_history && common.ranks.empty() && common.nodes.empty();
}

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
  const auto links = links_of(facts.view);
  for (const auto find : {fallen_links, bad_links}) {
    if (!worst.links.empty()) break;
    for (const std::vector<Link>& kind : links) {
      Bad bad = find(kind);
      if (bad.links.size() <= worst.links.size() || is_everywhere(facts.view, bad)) continue;
      worst = std::move(bad);
    }
  }
  if (worst.links.empty()) return std::nullopt;
  const auto how = [&worst](const Link& link) {
    const double usual = worst.is_by_history ? link.usual_ns / link.bytes : worst.usual;
    return fmt::format("{:.2f} ns per byte, {:.2f} {}", link.cost(), usual,
                       worst.is_by_history ? "before" : "on most links of its kind");
  };
  std::ranges::sort(worst.links, std::greater{}, &Link::cost);
  std::vector<Edge> edges;
  std::vector<std::string> lines;
  for (const Link& link : worst.links) {
    edges.push_back(link.edge);
    lines.push_back(fmt::format("rank {} to rank {}: {}, over {}", link.edge.from.value,
                                link.edge.to.value, how(link),
                                amount_text(static_cast<std::uint64_t>(link.bytes))));
  }
  const std::string said = how(worst.links.front());
  return slow_edges(facts.view, std::move(edges), std::move(lines), said);
}

}  // namespace robustrun::tracer
