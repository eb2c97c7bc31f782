#pragma once
// Which nodes run the next attempt. Pure.
//
// A node that is still there keeps its place of the former group, and so its ranks. A vacant place
// goes to a node without a place: if possible to one with as many workers as the place had, so that
// later places keep their ranks; among such nodes, to the one with the fewest losses. Places that
// stay vacant are removed. A node that stays gets other ranks only if an earlier place was removed,
// or got a node with another number of workers.

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
  std::uint32_t losses = 0;  // of its agents; more for a node that is to be taken last
};

struct GroupChoice {
  std::vector<base::NodeId> members;  // in their places, at most `max_nodes`
  std::vector<base::NodeId> newcomers;  // members that were not in the former group
  std::vector<base::NodeId> holders;  // by place: the node that had it before; kNoNode: a new place
  // Whether a node of the former group with at most kAgentLossesForgiven losses is coming, so that
  // a wait may pay.
  bool rightful_coming = false;
  bool any_coming = false;  // some node is coming
};

// `nodes`: by NodeId. `former`: the places so far; at the start, the nodes that are wanted.
GroupChoice choose_group(const std::vector<base::NodeId>& former,
                         const std::vector<Candidate>& nodes, std::uint32_t max_nodes);

}  // namespace robustrun::supervisor
