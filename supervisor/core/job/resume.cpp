// Another supervisor takes the run over: everything that its predecessor may not have done, or not
// have heard of, is ordered again. Agents recognise orders that they have carried out, and repeat
// their reports of the attempt; repeated reports change nothing here.

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "base/core/words.h"
#include "supervisor/core/job/group.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

void Job::Impl::resumed(const Event& event) {
  const auto& what = body<SupervisorResumed>(event);
  incarnation = std::max(incarnation + 1, what.incarnation);
  decide(Rule::kResumed,
         fmt::format(
             "supervisor {} takes over, {} after its predecessor was last heard of (on {}, pid "
             "{}); {} {}",
             incarnation, base::duration_words(what.away), what.host, what.pid,
             plan.world_size() == 0 ? "no worker was started yet"
                                    : workers_in_words() + " should still run, in state",
             plan.world_size() == 0 ? "" : to_string(state)));
  adopt_nodes();
  order_again();
  arm_timers_again();
}

// The end was decided, and perhaps not carried out.
void Job::Impl::resumed_finished(const Event& event) {
  incarnation = std::max(incarnation + 1, body<SupervisorResumed>(event).incarnation);
  adopt_nodes();
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    out.push_back(DismissAgent{base::NodeId{i}, ending.exit_code});
  }
  out.push_back(Finish{ending.exit_code});
}

void Job::Impl::adopt_nodes() {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const base::NodeId node{i};
    const auto says = at(node).agent == Agent::kJoined     ? AdoptNode::Agent::kJoined
                      : at(node).agent == Agent::kLaunched ? AdoptNode::Agent::kExpected
                                                           : AdoptNode::Agent::kLost;
    out.push_back(AdoptNode{node, at(node).generation, name(node), says, at(node).listens});
  }
  const bool ends = state == JobState::kFinishing || state == JobState::kFinished ||
                    (state == JobState::kStopping && !verdict().restart());
  if (ends) return;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const base::NodeId node{i};
    // The predecessor may or may not have launched this agent; an agent of that launch is outdated.
    if (at(node).agent == Agent::kLaunched && !spec.nodes[i].volunteer) launch(node);
  }
  arm_nodes_timer();
}

void Job::Impl::order_again() {
  if (state == JobState::kReserving) out.push_back(ReservePort{group.front(), attempt});
  if (state == JobState::kChecking) check_nodes();  // what was found so far is lost
  if (state == JobState::kReplaying) replay_wave();  // as above
  if (state == JobState::kPlacing) ask_placement(choice_now());
  if (state == JobState::kBackoff && resume.is_demoting()) out.push_back(demotion_order());
  if (state == JobState::kBackoff) order_saves_again();
  if (state == JobState::kReserving || workers_may_run()) ask_backup();
  if (state == JobState::kStarting || state == JobState::kRunning) place_copies();
  if (workers_may_run()) check_spares();
  if (!workers_may_run() && state != JobState::kFinishing) return;
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    if (!at(group[i]).gone) out.push_back(start_order_of(i));
  }
  if (state == JobState::kStopping) {
    send_stops(SIGTERM, outage->stop_reason(verdict().restart()));
  } else if (state == JobState::kFinishing) {
    send_stops(SIGTERM, end_reason());
  }
}

// Deadlines for answers count from when the agents can be heard again.
void Job::Impl::arm_timers_again() {
  for (std::size_t i = 0; i < kTimers; ++i) {
    if (live_timers[i] == 0) continue;
    const auto id = static_cast<TimerId>(i);
    if (id == TimerId::kState) timers_at[i] = std::max(timers_at[i], now + kReunionMax);
    out.push_back(SetTimer{id, live_timers[i], timers_at[i]});
  }
}

}  // namespace robustrun::supervisor
