#pragma once
// Which nodes run the next attempt. Pure.
//
// A node that is still there keeps its place of the former group, and so its ranks. A vacant place
// goes to a node without a place: if possible to one with as many workers as the place had, so that
// the ranks behind it stay the same; among those, to the one that was lost least often. Places that
// stay vacant are closed up. Survivors get other ranks only behind a place that is closed up, or
// that gets a node with another number of workers.

#include <cstdint>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/placement.h"

namespace robustrun::supervisor {

enum class Presence : std::uint8_t {
  kAbsent,  // lost, or it takes no part
  kComing,  // its agent was launched and has not said hello
  kThere,
};

struct Candidate {
  Presence presence = Presence::kAbsent;
  std::uint32_t slots = 0;  // 0: not known yet
  std::uint32_t losses = 0;  // of agents, and what else counts like them (Formation::choice)
};

struct GroupChoice {
  std::vector<base::NodeId> members;  // in their places, at most `max_nodes`
  std::vector<base::NodeId> newcomers;  // members that were not in the former group
  std::vector<base::NodeId> holders;  // by place: its former node; kNoNode: a new place
  // Whether a node of the former group that was lost at most once is coming back: worth a wait.
  bool rightful_coming = false;
  bool any_coming = false;
};

// `nodes`: by NodeId. `former`: the places so far; at the start, those that are wanted.
GroupChoice choose_group(const std::vector<base::NodeId>& former,
                         const std::vector<Candidate>& nodes, std::uint32_t max_nodes);

}  // namespace robustrun::supervisor
