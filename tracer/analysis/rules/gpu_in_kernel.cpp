// R4a, R4d: all members are inside; a GPU has room to send and all the data it needs, and sends
// nothing.
//
// A send needs the data that the other peers on its channel send: in a ring, the previous rank; in
// a tree, the children or the parent. A tree member with a single peer, in both directions, may be
// a leaf, which needs nothing, or the root. When a rank hangs, all data in transit in the tree
// drains, and then the two ends of the path between that rank and the root look alike. NCCL's trees
// have different roots on different channels, so the rank that is suspected on all channels is the
// culprit.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/transport.h"

namespace robustrun::tracer {
namespace {

using Flows = std::vector<const Flow*>;  // unfinished ones of one member

struct Channel {
  std::map<const Member*, Flows> flows;
  bool is_tree = false;  // some pair of members sends both ways
};

std::map<std::uint32_t, Channel> by_channel(const Transport& transport) {
  std::map<std::uint32_t, Channel> channels;
  std::map<std::uint32_t, std::set<std::pair<std::int64_t, std::int64_t>>> ways;
  for (const FlowAt& at : transport.flows()) {
    const std::int64_t own = at.member->view->rank;
    const std::int64_t peer = at.flow->peer;
    Channel& channel = channels[at.flow->channel];
    channel.flows[at.member].push_back(at.flow);
    auto& known = ways[at.flow->channel];
    known.insert(at.flow->is_send ? std::pair(own, peer) : std::pair(peer, own));
    channel.is_tree |=
        transport.comm().size > 2 && known.contains({own, peer}) && known.contains({peer, own});
  }
  return channels;
}

enum class Idle : std::uint8_t { kNo, kPerhaps, kYes };

// Whether a GPU could fill a slot of `send`, and does not.
Idle is_idle(const Flow& send, const Flows& flows, const Channel& channel, bool all_seen) {
  if (!waits_for_gpu(send)) return Idle::kNo;
  bool has_data = false;
  for (const Flow* flow : flows) {
    if (flow->is_send || (channel.is_tree && flow->peer == send.peer)) continue;
    if (!waits_to_be_consumed(*flow)) return Idle::kNo;
    has_data = true;
  }
  // In a tree, it may wait for a member that was not seen.
  if (channel.is_tree) return all_seen ? Idle::kPerhaps : Idle::kNo;
  return has_data ? Idle::kYes : Idle::kNo;
}

struct Suspects {
  std::vector<const Member*> members;
  bool is_proved = false;
  bool is_narrowed = false;  // one channel cleared a member that another suspects
};

std::vector<const Member*> suspects_on(const Channel& channel, bool all_seen, bool& is_proved) {
  std::vector<const Member*> found;
  for (const auto& [member, flows] : channel.flows) {
    Idle idle = Idle::kNo;
    for (const Flow* flow : flows) {
      if (flow->is_send) idle = std::max(idle, is_idle(*flow, flows, channel, all_seen));
    }
    if (idle != Idle::kNo) found.push_back(member);
    is_proved |= idle == Idle::kYes;
  }
  return found;
}

// The members that may be idle on every stuck channel.
Suspects suspects_of(const Transport& transport) {
  Suspects suspects;
  bool is_first = true;
  const bool all_seen = transport.is_complete();
  for (const auto& [number, channel] : by_channel(transport)) {
    const std::vector<const Member*> here = suspects_on(channel, all_seen, suspects.is_proved);
    if (is_first) {
      suspects.members = here;
    } else {
      std::vector<const Member*> both;
      std::ranges::set_intersection(suspects.members, here, std::back_inserter(both));
      suspects.is_narrowed |= both.size() < std::max(here.size(), suspects.members.size());
      suspects.members = both;
    }
    is_first = false;
  }
  return suspects;
}

// The only member whose GPU reports errors; nullptr: none, or several.
const Member* with_errors(const Case& facts, const Communicator& comm) {
  const Member* found = nullptr;
  for (const Member& member : comm.members) {
    const std::vector<GpuState>& gpus = facts.view.rank(member.at).evidence.gpus;
    const bool has = std::ranges::any_of(gpus, [](const GpuState& g) { return !g.errors.empty(); });
    if (has && found != nullptr) return nullptr;
    if (has) found = &member;
  }
  return found;
}

Verdict verdict_of(const Case& facts, const std::vector<Blame>& blames, std::string_view because) {
  Accusation made = accuse(facts, Finding::kGpuInKernel, blames);
  add_members(facts, blames.front().comm, made);
  made.verdict.sentence =
      fmt::format("the {} of {} {} inside {}{}{}", made.choose("GPU", "GPUs"), made.named,
                  made.choose("hangs", "hang"), made.operation, for_text(made.age), because) +
      waiting_text(facts, made);
  for (const Blame& blame : blames) {
    for (const GpuState& gpu : facts.view.rank(blame.at).evidence.gpus) {
      for (const std::string& error : gpu.errors) {
        if (made.verdict.evidence.size() < kEvidenceLines) {
          made.verdict.evidence.push_back(gpu.name.substr(0, kNameBytes) + ": " + error);
        }
      }
    }
  }
  return made.verdict;
}

}  // namespace

std::optional<Verdict> rule_gpu_in_kernel(const Case& facts) {
  const std::optional<Transport> transport = stuck_transport(facts);
  if (!transport) return std::nullopt;
  const Suspects suspects = suspects_of(*transport);
  const bool is_clear =
      suspects.is_proved || (suspects.is_narrowed && suspects.members.size() == 1);
  if (suspects.members.empty() || !is_clear) return std::nullopt;
  std::vector<Blame> blames;
  for (const Member* member : suspects.members) blames.push_back(transport->blame(*member));
  Verdict verdict =
      verdict_of(facts, blames, ": it has room to send and the data to do so, but sends nothing");
  if (!suspects.is_proved) verdict.confidence = Confidence::kInferred;
  return verdict;
}

std::optional<Verdict> rule_gpu_errors(const Case& facts) {
  const Wait* const wait = wait_of_all(facts);
  if (wait == nullptr) return std::nullopt;
  const Member* const member = with_errors(facts, facts.view.comms()[wait->comm]);
  if (member == nullptr) return std::nullopt;
  Blame blame;
  blame.at = member->at;
  blame.comm = wait->comm;
  blame.ordinal = wait->ordinal;
  blame.signature = wait->signature;
  blame.age = wait->age;
  Verdict verdict = verdict_of(facts, {blame}, ": it reports errors");
  verdict.confidence = Confidence::kInferred;
  return verdict;
}

}  // namespace robustrun::tracer
