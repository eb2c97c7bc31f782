#pragma once
// Drivers that are broken on purpose, each in one way: they prove that the invariants can fail.

#include <algorithm>
#include <utility>
#include <vector>

#include "supervisor/core/job/job.h"

namespace robustrun::sim {

namespace core = supervisor;

enum class Mutation : std::uint8_t {
  kNone,
  kDoesNotWait,        // answers StopWorkers itself, at once
  kWhispers,           // the same, but tells only the core
  kSameAttempt,        // every start is attempt 0
  kRankTwice,          // one rank is assigned twice
  kOtherPort,          // the last node gets another MASTER_PORT
  kGenerous,           // the core gets more restarts than the user allowed
  kTwoFinishes,
  kNoFinish,
  kLazyTimers,         // timers never fire
  kNoTimers,           // nor are they set
  kTornJournal,        // one event is missing after a crash
  kOptimist,           // the run always ends with 0
  kSpeaksNative,       // failures end with 94 in compat mode too
  kKeepsAgents,        // agents are not dismissed
  kNeverKills,         // agents are neither stopped nor dismissed, but the core is told so
  kSameGeneration,     // every agent is the first
  kRestless,           // agents are launched again at every restart
  kBlindToUnkillable,  // the core does not learn of unkillable processes
  kSilent,             // decisions without a text
  kWrongPlace,         // a new node shifts the others back
  kShrinksTooFar,      // the core is told that one node suffices
  kHidesSpares,        // the core does not learn of spares
  kDenial,             // nor of lost agents
  kObeysThePast,       // a lost agent's messages count as its successor's
  kAdmitsUnfit,       // an unfit node is in the group
  kTwoPlaces,          // a node has two places
  kKnowsBetter,        // nodes get other places than were solved
  kReplaysTwice,       // a node is in two groups that are replayed at once
  kReplaysLost,     // a lost node is replayed
  kForgetsMarks,       // reports a checkpoint as marked too early
  kMarksAnother,       // the wrong checkpoint is marked
  kQuickToMark,        // the core is told that one failure suffices to mark
  kLoadsTheMarked,     // workers load marked checkpoints
  kForgetsSaves,       // reports copies as saved too early
  kKeepsItsOwn,        // a node keeps its own copies
  kKeepsTwo,           // all nodes' copies go to one
  kForgives,           // every machine that returns counts as one that returns three times
  kIgnoresStops,       // the core does not get orders to end the run
  kForgetsOrders,      // a new supervisor does not repeat earlier orders
  kForgetsFields,      // the journal loses where agents listen
  kRemembersWrong,     // a new supervisor orders workers of another version
  kFetchesNothing,     // no agent learns where copies are
  kBlamesNeighbours,   // agents' snapshots blame the next rank
  kConvictsNeighbours, // the verdict does
  kOldVersion,         // every start is of the first version
  kObeysTheFormer,     // agents obey a replaced supervisor
  kOrdersByClock,      // the newest checkpoint is the one with the highest wall time
  kOrdersByStep,       // or step
  kLooksForMarksOnce,  // in the first directory alone
  kPrunesUnverified,   // retention assumes that all are whole
  kTrustsTheFence,     // generations begin anew when the fence is lost
  kSalvagesTheOld,     // a save is committed although a later one exists
  kIgnoresTheFence,    // any session commits
  kKeepsStrangers,     // an agent with another supervisor's workers stays
  kMixesOrders,        // the same for workers of the current attempt
  kSharesSessions,     // checkpoints ignore which supervisor ordered an attempt
  kRoundsTimes,        // the journal keeps times to the millisecond
  kIgnoresDeaths,      // the core does not learn of workers that fail
  kIgnoresHangs,       // nor of confirmed hangs
  kForgetsBackoff,     // nothing happens after a back-off
  kNeverRelaunches,    // agents are started once
  kGenerousToMachines, // the core gets more free restarts
  kRefillsEarly,       // and refills the budget after less progress
  kStaysOnRungs,       // and takes each rung once more
  kBlamesMachines,     // workers that end by themselves are reported as killed
  kSeatsTheEvicted,    // an evicted node is in the group
  kHidesSaving,        // workers are not told that copies are still being saved
};

// Distorts the core's actions; none of it is visible to the core.
inline std::vector<core::Action> distort(Mutation mutation, std::vector<core::Action> actions,
                                         bool compat, bool is_takeover) {
  std::vector<core::Action> out;
  if (mutation == Mutation::kForgetsOrders && is_takeover) return out;
  for (core::Action& action : actions) {
    if (auto* start = std::get_if<core::StartWorkers>(&action)) {
      if (mutation == Mutation::kSameAttempt) start->attempt = {};
      if (mutation == Mutation::kRemembersWrong && is_takeover) ++start->version;
      if (mutation == Mutation::kOldVersion) start->version = 0;
      if (mutation == Mutation::kHidesSaving) start->saving = false;
      if (mutation == Mutation::kRankTwice) start->workers = {{}, start->workers.size()};
      const bool last = start->group_rank > 0 && start->group_rank + 1 == start->group_world_size;
      if (mutation == Mutation::kOtherPort && last) ++start->master_port;
      if (mutation == Mutation::kRestless && start->attempt.value > 0) {
        out.push_back(core::LaunchAgent{start->node, {2}});
      }
    } else if (auto* formed = std::get_if<core::GroupFormed>(&action)) {
      if (mutation == Mutation::kWrongPlace && formed->attempt.value > 0) {
        std::ranges::rotate(formed->members, formed->members.end() - 1);
      }
      if (mutation == Mutation::kTwoPlaces) formed->members.back().node = formed->members[0].node;
      if (mutation == Mutation::kKnowsBetter) {
        std::ranges::sort(formed->members, {}, &core::GroupMember::node);
      }
    } else if (auto* replay = std::get_if<core::ReplayNodes>(&action)) {
      if (mutation == Mutation::kReplaysTwice && !replay->groups.empty()) {
        replay->groups.push_back(replay->groups.front());
      }
      if (mutation == Mutation::kReplaysLost && !replay->groups.empty()) {
        replay->groups.front().push_back({{999}, {}, 1});
      }
    } else if (auto* copies = std::get_if<core::PlaceCopies>(&action)) {
      if (mutation == Mutation::kFetchesNothing) copies->fetch.clear();
      if (mutation == Mutation::kKeepsItsOwn && !copies->send.empty()) {
        copies->send.front().node = copies->node;
      }
      if (mutation == Mutation::kKeepsTwo) {
        for (core::CopyRoute& route : copies->send) {
          if (copies->node.value > 0) route.node = {0};
        }
      }
    } else if (auto* demote = std::get_if<core::DemoteCheckpoint>(&action)) {
      if (mutation == Mutation::kMarksAnother) ++demote->id.step;
    } else if (auto* judged = std::get_if<core::NodesJudged>(&action)) {
      for (core::NodeVerdict& verdict : judged->verdicts) {
        if (mutation == Mutation::kAdmitsUnfit) verdict.level = core::Fitness::kUnfit;
      }
    } else if (auto* launch = std::get_if<core::LaunchAgent>(&action)) {
      if (mutation == Mutation::kSameGeneration) launch->generation = {1};
    } else if (auto* decision = std::get_if<core::Decision>(&action)) {
      if (mutation == Mutation::kSilent) decision->text.clear();
      if (mutation == Mutation::kForgives && decision->rule == core::Rule::kNodeReturned) {
        out.insert(out.end(), 2, *decision);
      }
    } else if (std::holds_alternative<core::DismissAgent>(action)) {
      if (mutation == Mutation::kKeepsAgents) continue;
    } else if (std::holds_alternative<core::SetTimer>(action)) {
      if (mutation == Mutation::kNoTimers) continue;
    } else if (auto* finish = std::get_if<core::Finish>(&action)) {
      if (mutation == Mutation::kNoFinish) continue;
      if (mutation == Mutation::kOptimist) finish->exit_code = 0;
      if (mutation == Mutation::kSpeaksNative && compat) finish->exit_code = 94;
      if (mutation == Mutation::kTwoFinishes) out.push_back(*finish);
    }
    out.push_back(std::move(action));
  }
  return out;
}

// Events that never reach the core.
inline bool is_unheard(Mutation mutation, const core::Event& event, const core::JobSpec& spec) {
  if (mutation == Mutation::kDenial) return std::holds_alternative<core::AgentLost>(event.body);
  const auto* exited = std::get_if<core::WorkerExited>(&event.body);
  if (mutation == Mutation::kIgnoresDeaths) return exited != nullptr && !exited->status().success();
  const auto* found = std::get_if<core::Diagnosed>(&event.body);
  if (mutation == Mutation::kIgnoresHangs) {
    return found != nullptr && found->stage == core::Diagnosed::Stage::kConvicted;
  }
  if (mutation == Mutation::kIgnoresStops) {
    const auto* signal = std::get_if<core::SignalReceived>(&event.body);
    return signal != nullptr && !signal->forward_only;
  }
  return mutation == Mutation::kHidesSpares && spec.group.max_nodes != 0 &&
         event.node.value >= spec.group.max_nodes &&
         std::holds_alternative<core::AgentJoined>(event.body);
}

// The event that reaches the core instead.
inline core::Event muffle(Mutation mutation, core::Event event, base::Generation newest) {
  auto* gone = std::get_if<core::WorkersGone>(&event.body);
  if (mutation == Mutation::kBlindToUnkillable && gone != nullptr) gone->unkillable.clear();
  auto* exited = std::get_if<core::WorkerExited>(&event.body);
  if (mutation == Mutation::kBlamesMachines && exited != nullptr) exited->shim_lost = true;
  auto* diagnosed = std::get_if<core::Diagnosed>(&event.body);
  if (mutation == Mutation::kConvictsNeighbours && diagnosed != nullptr) {
    for (base::Rank& rank : diagnosed->verdict.culprits) {
      rank.value = rank.value > 0 ? rank.value - 1 : rank.value + 1;
    }
  }
  if (mutation == Mutation::kObeysThePast) event.generation = newest;
  return event;
}

}  // namespace robustrun::sim
