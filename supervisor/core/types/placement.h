#pragma once
// Placement of nodes by the network's topology: the core's question and its answer. Plain data. The
// core knows nothing of switches: the driver solves the placement (supervisor/group/placer.h), and
// the answer comes as an event.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/ids.h"

namespace robustrun::supervisor {

enum class PlacementUse : std::uint8_t {
  kOff,  // nodes keep the order of JobSpec::nodes; job/facts/group_choice.h picks spares
  kSurvivorsStay,  // a node that is still there keeps its place (--rerank=never)
  kSurvivorsMayMove,  // nodes move where that pays (--rerank=nodes, --rerank=all)
};

// No node. In SolvePlacement::former: the place had no node before.
inline constexpr base::NodeId kNoNode{0xffffffff};

struct PlacementNode {
  base::NodeId node = kNoNode;
  std::string name;
  std::uint32_t slots = 0;  // workers that it takes
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "name", name);
    v(3, "slots", slots);
  }
};

// Which node is to have which place? Answered by PlacementSolved. Lost nodes are in `former`, but
// not in `candidates`. Of equally good candidates the first ones are preferred.
struct SolvePlacement {
  std::uint64_t digest = 0;  // of all other fields: the answer repeats it
  base::Attempt attempt;
  std::vector<PlacementNode> former;  // by place, as many as `places`; empty at the start
  std::vector<PlacementNode> candidates;  // each once, at least `places`
  std::uint32_t places = 0;
  template <class V>
  void fields(V& v) {
    v(1, "digest", digest);
    v(2, "attempt", attempt);
    v(3, "former", former);
    v(4, "candidates", candidates);
    v(5, "places", places);
  }
};

struct PlacementSolved {
  std::uint64_t digest = 0;
  std::vector<base::NodeId> members;  // by place; empty: no placement was found
  std::string text;  // why these members, or why none, in one sentence
  std::vector<std::string> evidence;
  std::vector<std::string> alternatives;
  template <class V>
  void fields(V& v) {
    v(1, "digest", digest);
    v(2, "members", members);
    v(3, "text", text);
    v(4, "evidence", evidence);
    v(5, "alternatives", alternatives);
  }
};

}  // namespace robustrun::supervisor
