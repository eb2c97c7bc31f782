// R4c: all members are inside; the proxy thread of one rank, which moves its data, is stuck. The
// other end proves it: the peer has sent more than this rank has noticed, or has received more than
// this rank has noticed; or this rank posts no buffer, or sends nothing, although it could.

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/transport.h"

namespace robustrun::tracer {
namespace {

bool is_receiver_stuck(const Flow& send, const Flow& recv) {
  if (!waits_for_peer(send) || waits_for_network(send)) return false;
  const bool has_not_noticed = send.done > recv.ready;
  const bool posts_nothing = recv.posted == recv.done && recv.posted < recv.steps;
  return has_not_noticed || posts_nothing;
}

bool is_sender_stuck(const Flow& send, const Flow& recv) {
  const bool has_not_noticed = recv.ready > send.done;
  const bool sends_nothing =
      send.ready > send.transmitted && recv.posted > send.transmitted && !waits_for_network(send);
  return has_not_noticed || sends_nothing;
}

}  // namespace

std::optional<Verdict> rule_proxy_stuck(const Case& facts) {
  const std::optional<Transport> transport = stuck_transport(facts);
  if (!transport) return std::nullopt;
  std::vector<Blame> blames;
  bool is_proved = true;
  for (const FlowAt& flow : transport->flows()) {
    const Flow* const recv = flow.flow->is_send ? transport->other_end(flow) : nullptr;
    if (recv == nullptr) continue;
    const Member* stuck = nullptr;
    if (is_receiver_stuck(*flow.flow, *recv)) stuck = transport->comm().find(flow.flow->peer);
    if (is_sender_stuck(*flow.flow, *recv)) stuck = flow.member;
    if (stuck == nullptr) continue;
    const std::optional<base::Nanos> still = facts.view.rank(stuck->at).proxy_still;
    if (still && *still < kFlowStill) continue;
    is_proved &= still.has_value();
    const auto is_same = [&](const Blame& b) { return b.at == stuck->at; };
    if (std::ranges::none_of(blames, is_same)) blames.push_back(transport->blame(*stuck));
  }
  if (blames.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kProxyStuck, blames);
  add_members(facts, transport->wait().comm, made);
  if (!is_proved) made.verdict.confidence = Confidence::kInferred;
  made.verdict.sentence =
      fmt::format("the proxy {} of {} {} stuck inside {}{}", made.choose("thread", "threads"),
                  made.named, made.choose("is", "are"), made.operation, for_text(made.age)) +
      waiting_text(facts, made);
  return made.verdict;
}

}  // namespace robustrun::tracer
