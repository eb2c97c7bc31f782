#pragma once
// Which node gets which place, as far as somebody who knows the network says: the core's question
// and the answer to it. Plain data. The core knows nothing of switches; the shell solves
// (supervisor/group/placer.h), and its answer is an event.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/ids.h"

namespace robustrun::supervisor {

enum class PlacementUse : std::uint8_t {
  kOff,                // nodes have the order they are known in, spares are taken in turn
  kSurvivorsStay,      // a node that is still there keeps its place (--rerank=never)
  kSurvivorsMayMove,   // where that pays
};

// In SolvePlacement::former: nobody held that place.
inline constexpr base::NodeId kNobody{0xffffffff};

struct PlacementNode {
  base::NodeId node = kNobody;
  std::string name;
  std::uint32_t slots = 0;   // workers it takes
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "name", name);
    v(3, "slots", slots);
  }
};

// Who is to have which place? Answered by PlacementSolved. Nodes that are gone stand in `former`
// and not in `candidates`; of equally good candidates the first ones are preferred.
struct SolvePlacement {
  std::uint64_t digest = 0;   // of all the rest: the answer repeats it
  base::Attempt attempt;
  std::vector<PlacementNode> former;   // by place, as many as `places`; at the start: empty
  std::vector<PlacementNode> candidates;   // each once, at least `places`
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
  std::vector<base::NodeId> members;   // by place; empty: there is no answer, `text` says why
  std::string text;                    // why so, in one sentence
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
