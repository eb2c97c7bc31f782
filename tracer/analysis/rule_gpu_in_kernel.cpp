// R4a: all are inside; a GPU has data to consume and room to send, on one channel, and does
// neither. R4d: where that is not to be seen whole, whoever all flows lead to.
//
// A last receiver of a chain sends nothing: it has no room to send and is not accused.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/transport.h"

namespace robustrun::tracer {
namespace {

using Flows = std::vector<const Flow*>;  // unfinished ones of one member

// By index in the communicator's members.
std::vector<Flows> flows_by_member(const Transport& transport) {
  const std::vector<Member>& members = transport.comm().members;
  std::vector<Flows> by_member(members.size());
  for (const FlowAt& flow : transport.flows()) {
    by_member[static_cast<std::size_t>(flow.member - members.data())].push_back(flow.flow);
  }
  return by_member;
}

// Of a channel: everything that is to come has come, and everything that is to go may go. A node of
// a tree that lacks one child's data, or room towards one of them, waits by right.
bool is_idle(const Flows& flows) {
  struct Channel {
    bool has_data = false, has_room = false, waits = false;
  };
  std::map<std::uint32_t, Channel> channels;
  for (const Flow* flow : flows) {
    Channel& channel = channels[flow->channel];
    if (flow->is_send && flow->ready == flow->steps) continue;  // the GPU has filled all of it
    if (!flow->is_send && waits_to_be_consumed(*flow)) {
      channel.has_data = true;
    } else if (waits_for_gpu(*flow)) {
      channel.has_room = true;
    } else {
      channel.waits = true;
    }
  }
  return std::ranges::any_of(channels, [](const auto& row) {
    return row.second.has_data && row.second.has_room && !row.second.waits;
  });
}

constexpr std::size_t kEnd = SIZE_MAX;  // waits for nobody but its own GPU
constexpr std::size_t kNowhere = kEnd - 1;  // no flows, or to somebody who is not seen

// The member whom a member's flows wait for.
std::size_t next_of(const Communicator& comm, const Flows& flows) {
  if (flows.empty()) return kNowhere;
  const auto waits_upstream = [](const Flow* f) {
    return (!f->is_send && waits_for_network(*f)) || waits_for_peer(*f);
  };
  const auto waits_downstream = [](const Flow* f) { return f->is_send && waits_for_network(*f); };
  auto flow = std::ranges::find_if(flows, waits_upstream);
  if (flow == flows.end()) flow = std::ranges::find_if(flows, waits_downstream);
  if (flow == flows.end()) return kEnd;
  const Member* const peer = comm.find((*flow)->peer);
  return peer == nullptr ? kNowhere : static_cast<std::size_t>(peer - comm.members.data());
}

// Where the walks along the flows end, if that is one member and it is seen: who waits for nobody
// is the end of a walk, if only of its own.
const Member* end_of_chain(const Transport& transport) {
  const Communicator& comm = transport.comm();
  const std::vector<Flows> flows = flows_by_member(transport);
  const Member* end = nullptr;
  for (std::size_t m = 0; m < flows.size(); ++m) {
    if (next_of(comm, flows[m]) != kEnd) continue;
    if (end != nullptr) return nullptr;
    end = &comm.members[m];
  }
  return end;
}

// Without flows: the only member whose GPU reports errors.
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
      fmt::format("the {} of {} {} inside {} for {}{}", made.choose("GPU", "GPUs"), made.who,
                  made.choose("hangs", "hang"), made.operation, duration_text(made.age), because) +
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
  std::vector<Blame> blames;
  const std::vector<Flows> flows = flows_by_member(*transport);
  for (std::size_t m = 0; m < flows.size(); ++m) {
    if (is_idle(flows[m])) blames.push_back(transport->blame(transport->comm().members[m]));
  }
  if (blames.empty()) return std::nullopt;
  return verdict_of(facts, blames, ": it has data to consume and room to send, and does neither");
}

std::optional<Verdict> rule_flow_chain(const Case& facts) {
  const std::optional<Transport> transport = stuck_transport(facts);
  const Wait* const wait = wait_of_all(facts);
  std::optional<Blame> blame;
  std::string_view because = ": what all others wait for leads to it";
  if (transport) {
    if (const Member* const end = end_of_chain(*transport)) blame = transport->blame(*end);
  } else if (wait != nullptr) {
    because = ": it reports errors";
    const Communicator& comm = facts.view.comms()[wait->comm];
    if (const Member* const member = with_errors(facts, comm)) {
      blame.emplace();
      blame->at = member->at;
      blame->comm = wait->comm;
      blame->ordinal = wait->ordinal;
      blame->signature = wait->signature;
      blame->age = wait->age;
    }
  }
  if (!blame) return std::nullopt;
  Verdict verdict = verdict_of(facts, {*blame}, because);
  verdict.confidence = Confidence::kInferred;
  return verdict;
}

}  // namespace robustrun::tracer
