#include "tracer/analysis/stuck_links.h"

#include <fmt/format.h>

#include "base/core/words.h"
#include "tracer/analysis/connections.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/transport.h"

namespace robustrun::tracer {
namespace {

void add_flows(const Case& facts, const Transport& transport, StuckLinks& links) {
  links.has_flows = links.is_proved = true;
  for (const FlowAt& at : stuck_sends(transport)) {
    const Edge edge = edge_of(facts, transport, at);
    const Flow& flow = *at.flow;
    if (edge.from != edge.to) links.is_proved &= transport.other_end(at) != nullptr;
    links.edges.push_back(edge);
    links.lines.push_back(
        fmt::format("rank {} to rank {}, channel {}: {} of {} steps sent, {} arrived, no progress "
                    "for {}",
                    edge.from.value, edge.to.value, flow.channel, flow.transmitted, flow.steps,
                    flow.done, base::rough_duration_words(flow.unchanged)));
  }
}

// Adds stuck connections between members.
void add_connections(const Case& facts, StuckLinks& links) {
  std::vector<std::uint32_t> members;
  for (const Member& member : facts.view.comms()[links.wait->comm].members) {
    members.push_back(member.at);
  }
  for (const Connection& each : connections_of(facts.view, members)) {
    const SocketState& socket = *each.socket;
    if (!is_stuck(each)) continue;
    links.edges.push_back(each.edge);
    links.lines.push_back(
        fmt::format("rank {} to rank {}: {} bytes not acknowledged, retransmitted {} times, last "
                    "data received {} ago",
                    each.edge.from.value, each.edge.to.value, socket.send_queue, socket.retransmits,
                    base::rough_duration_words(socket.last_received)));
  }
}

}  // namespace

std::optional<StuckLinks> stuck_links(const Case& facts) {
  StuckLinks links;
  if (const std::optional<Transport> transport = stuck_transport(facts)) {
    links.wait = &transport->wait();
    add_flows(facts, *transport, links);
  } else {
    links.wait = wait_of_all(facts);
    if (links.wait != nullptr) add_connections(facts, links);
  }
  return links.edges.empty() ? std::nullopt : std::optional(std::move(links));
}

}  // namespace robustrun::tracer
