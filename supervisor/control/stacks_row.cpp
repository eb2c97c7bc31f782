#include "supervisor/control/stacks_row.h"

#include <algorithm>
#include <set>
#include <utility>

#include "supervisor/control/fields.h"
#include "supervisor/limits.h"
#include "tracer/analysis/stacks.h"
#include "wire/messages/field_codec.h"

namespace robustrun::supervisor {
namespace {

// Python's frames where there are any; null: there is no stack of the main thread.
const tracer::ThreadStack* main_stack(const tracer::Evidence& evidence) {
  const tracer::ThreadStack* found = nullptr;
  for (const tracer::ThreadStack& stack : evidence.stacks) {
    if (!stack.is_main || stack.frames.empty()) continue;
    if (found == nullptr || (found->is_native && !stack.is_native)) found = &stack;
  }
  return found;
}

}  // namespace

WorkerStacks stacks_of(const tracer::FleetSnapshot& fleet) {
  std::vector<const tracer::Evidence*> evidence;
  for (const tracer::RankSnapshot& rank : fleet.ranks) evidence.push_back(&rank.evidence);
  WorkerStacks out;
  std::vector<bool> is_seen(fleet.ranks.size());
  for (const tracer::SameStack& same : tracer::read_stacks(evidence).same) {
    RankStack one;
    one.place = same.place;
    const tracer::ThreadStack* stack = nullptr;
    for (const std::uint32_t member : same.members) {
      one.ranks.push_back(fleet.ranks[member].rank.value);
      is_seen[member] = true;
      if (stack == nullptr) stack = main_stack(*evidence[member]);
    }
    std::ranges::sort(one.ranks);
    if (stack != nullptr) {
      one.is_native = stack->is_native;
      const auto count = std::min(stack->frames.size(), kStackFramesMax);
      one.frames.assign(stack->frames.begin(),
                        stack->frames.begin() + static_cast<std::ptrdiff_t>(count));
    }
    out.stacks.push_back(std::move(one));
  }
  std::set<std::string> missing;
  for (std::size_t i = 0; i < is_seen.size(); ++i) {
    if (is_seen[i]) continue;
    out.unseen.push_back(fleet.ranks[i].rank.value);
    missing.insert(evidence[i]->missing.begin(), evidence[i]->missing.end());
  }
  std::ranges::sort(out.unseen);
  for (const std::string& why : missing) {
    if (out.missing.size() < kStackReasonsMax) out.missing.push_back(why);
  }
  return out;
}

ControlServer::Row stacks_row(LookAtStacks look) {
  return {
      "stacks", [look = std::move(look)](const ControlFields& fields, ControlServer::Reply reply) {
        base::Rank rank;
        if (const auto read = read_number(fields, "rank", rank.value); !read) {
          return reply(control_refusal(read.error().what), nullptr);
        }
        const bool has_rank = fields.contains("rank");
        look(has_rank ? std::optional(rank) : std::nullopt,
             [reply = std::move(reply)](const base::Result<WorkerStacks>& stacks) {
               if (!stacks) return reply(control_refusal(stacks.error().what), nullptr);
               reply(write_control_message(
                         {{"type", "stacks"}, {"stacks", bytes_to_member(wire::encode(*stacks))}}),
                     nullptr);
             });
      }};
}

ControlFields stacks_request(std::optional<base::Rank> rank) {
  ControlFields fields = {{"command", "stacks"}};
  if (rank) fields["rank"] = std::to_string(rank->value);
  return fields;
}

base::Result<WorkerStacks> read_stacks_answer(const ControlFields& answer) {
  const std::string bytes = RR_TRY(member_to_bytes(text_of(answer, "stacks")));
  return wire::decode<WorkerStacks>(bytes);
}

}  // namespace robustrun::supervisor
