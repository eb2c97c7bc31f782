// R8 without flows (gloo): the throughput of TCP connections while they have data in flight,
// compared among links of one kind.
//
// A slow sender makes all others wait, and in a ring all are busy for equally long. It slows down
// the links to both of its neighbours, because acknowledgements of the data it receives queue
// behind its own data. So most links of a small ring may be slow; they then count only if one rank
// or node is part of all of them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "tracer/analysis/connections.h"
#include "tracer/analysis/edges.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

struct TcpLink {
  Edge edge;
  double bytes = 0;
  double busy_s = 0;
  double share = 0;  // part of the watched time that its busiest connection was busy
  [[nodiscard]] double rate() const {
    // The kernel counts whole ticks of its clock.
    return bytes / std::max(busy_s, std::chrono::duration<double>(kTcpTick).count());
  }
};

// The links that carry data; [0] within a node, [1] between nodes.
std::array<std::vector<TcpLink>, 2> tcp_links_of(const FleetView& view) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) all.push_back(at);
  std::map<Edge, TcpLink> sums;
  for (const Connection& connection : connections_of(view, all)) {
    const SocketState& socket = *connection.socket;
    if (socket.watched <= base::Nanos{} || socket.busy_meanwhile < base::Nanos{}) continue;
    TcpLink& link = sums[connection.edge];
    link.edge = connection.edge;
    link.bytes += static_cast<double>(socket.acked_meanwhile);
    link.busy_s += std::chrono::duration<double>(socket.busy_meanwhile).count();
    link.share = std::max(link.share, static_cast<double>(socket.busy_meanwhile.count()) /
                                          static_cast<double>(socket.watched.count()));
  }
  std::array<std::vector<TcpLink>, 2> links;
  for (const auto& [edge, link] : sums) {
    if (link.bytes < static_cast<double>(kTcpBytesLeast)) continue;
    const std::string& from = view.rank(*view.find(edge.from)).node;
    const std::string& to = view.rank(*view.find(edge.to)).node;
    links[from == to ? 0 : 1].push_back(link);
  }
  return links;
}

struct SlowLinks {
  std::vector<TcpLink> links;
  double usual = 0;  // bytes/s
};

SlowLinks slow_links(const FleetView& view, std::vector<TcpLink> links) {
  if (links.size() < kTcpLinksLeast) return {};
  std::ranges::sort(links, {}, &TcpLink::rate);
  SlowLinks slow;
  slow.usual = links[links.size() * 3 / 4].rate();
  std::vector<Edge> edges;
  for (const TcpLink& link : links) {
    if (link.rate() * kSlowTcpFactor > slow.usual || link.share < kTcpBusyShare) continue;
    slow.links.push_back(link);
    edges.push_back(link.edge);
  }
  if (slow.links.size() * 2 <= links.size()) return slow;
  const Common common = common_of(view, edges);
  return common.ranks.empty() && common.nodes.empty() ? SlowLinks{} : slow;
}

std::string rate_text(double bytes_per_s) {
  return amount_text(static_cast<std::uint64_t>(bytes_per_s)) + "/s";
}

}  // namespace

std::optional<Verdict> rule_slow_tcp(const Case& facts) {
  SlowLinks worst;
  for (const std::vector<TcpLink>& links : tcp_links_of(facts.view)) {
    SlowLinks slow = slow_links(facts.view, links);
    if (slow.links.size() > worst.links.size()) worst = std::move(slow);
  }
  if (worst.links.empty()) return std::nullopt;
  std::vector<Edge> edges;
  std::vector<std::string> lines;
  for (const TcpLink& link : worst.links) {
    edges.push_back(link.edge);
    lines.push_back(fmt::format(
        "rank {} to rank {}: {} in {:.2f} s with data in flight, {}; {} on the best links",
        link.edge.from.value, link.edge.to.value,
        amount_text(static_cast<std::uint64_t>(link.bytes)), link.busy_s, rate_text(link.rate()),
        rate_text(worst.usual)));
  }
  return slow_edges(facts.view, std::move(edges), std::move(lines),
                    fmt::format("{}, {} on the best links of its kind",
                                rate_text(worst.links.front().rate()), rate_text(worst.usual)));
}

}  // namespace robustrun::tracer
