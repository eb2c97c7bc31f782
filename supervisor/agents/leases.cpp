#include "supervisor/agents/leases.h"

#include <fmt/core.h>

#include <utility>

#include "base/core/words.h"
#include "base/io/log.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

Leases::Leases(const boost::asio::any_io_executor& executor, const base::Clock& clock,
               const LeaseTimes& times, NodeTable& nodes, Hands hands)
    : clock_(clock), times_(times), nodes_(nodes), hands_(std::move(hands)), timer_(executor) {}

void Leases::begin() {
  if (!goes_on_) return;  // the run was over before it began
  timer_.after(times_.interval / kLeaseChecksPerBeat, [this, goes_on = std::weak_ptr(goes_on_)] {
    check_all();
    if (!goes_on.expired()) begin();
  });
}

void Leases::end() {
  goes_on_.reset();
  timer_.cancel();
}

void Leases::check_all() {
  const auto goes_on = std::weak_ptr(goes_on_);
  hands_.on_check();
  // A part of the nodes each time: all heartbeats at once would delay everything else.
  const std::uint64_t number = checks_ / kLeaseChecksPerBeat;
  const std::uint64_t turn = checks_++ % kLeaseChecksPerBeat;
  for (std::uint32_t i = 0; i < nodes_.size() && !goes_on.expired(); ++i) {
    const base::NodeId node{i};
    if (i % kLeaseChecksPerBeat == turn) hands_.beat(node, number);
    check(node);
  }
}

void Leases::check(base::NodeId node) {
  NodeLink& link = nodes_[node];
  if (!link.joined || link.lost || link.paused) return;
  const base::Nanos now = clock_.now();
  const base::Nanos silence = now - link.heard_at;
  if (silence < times_.suspect_after && !link.broken_at) {
    if (std::exchange(link.suspect, false)) {
      RR_LOG(kInfo, ({.node = nodes_.name(node)}), "the agent is heard again");
    }
    return;
  }
  if (silence >= times_.suspect_after) {
    suspect(node, fmt::format("it has been silent for {}", base::duration_words(silence)));
  }
  const bool did_not_return = link.broken_at && now - *link.broken_at >= link.returns_within;
  if (!did_not_return && silence < times_.lost_after) return;
  if (!link.ranks.empty() && hands_.peers_progress() && silence < kSilenceWithProgressMax) return;
  const std::string why =
      did_not_return ? fmt::format("its connection broke ({}) and it did not come back within {}",
                                   link.broken_why, base::in_seconds(link.returns_within))
                     : fmt::format("it was silent for {}{}", base::duration_words(silence),
                                   link.answers ? "" : ", and its machine does not answer");
  hands_.lose(node, why, link.answers);
}

void Leases::suspect(base::NodeId node, const std::string& why) {
  NodeLink& link = nodes_[node];
  if (!nodes_.keeps_orders() || std::exchange(link.suspect, true)) return;
  RR_LOG(kWarn, ({.node = nodes_.name(node)}), "the agent is suspected to be gone: {}", why);
  if (!hands_.has_probe(node)) return;
  hands_.probe(node, [this, goes_on = std::weak_ptr(goes_on_), node,
                      generation = link.generation](bool answers) {
    if (goes_on.expired()) return;
    NodeLink& asked = nodes_[node];
    if (asked.generation != generation || asked.lost) return;
    asked.answers = answers;
    if (answers || !asked.broken_at) return;
    hands_.lose(
        node,
        fmt::format("its connection broke ({}) and its machine does not answer", asked.broken_why),
        false);
  });
}

}  // namespace robustrun::supervisor
