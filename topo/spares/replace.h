#pragma once
// Who takes the places of nodes that are gone. Pure and deterministic.
//
// --rerank=never: each vacant place gets the newcomer that costs least there; nobody else moves.
// nodes: a newcomer may take a survivor's place, and that one the vacant place, if it pays. all:
// a fresh placement may be taken as a whole, if it pays. It pays when what the steps until the next
// failure gain exceeds the cost of moving.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "topo/place.h"

namespace robustrun::topo {

enum class Rerank : std::uint8_t { kNever, kNodes, kAll };
base::Result<Rerank> parse_rerank(std::string_view text);
std::string_view to_string(Rerank rerank);

struct MovingCosts {
  double seconds_per_move = 5;  // a survivor that changes its place: its local copies are lost
  double seconds_to_failure = 10800;  // expected until the next failure: 3 h
  // Share of a step that one unit of weighted spread costs: 10.6 % for some 6 units (Arnold 5.2).
  double step_share_per_unit = 0.017;
  template <class V>
  void fields(V& v) {
    v(1, "seconds_per_move", seconds_per_move);
    v(2, "seconds_to_failure", seconds_to_failure);
    v(3, "step_share_per_unit", step_share_per_unit);
  }
};

struct Replacement {
  std::vector<NodeIndex> nodes;  // by place; kNoNode: nobody left for it
  std::vector<PlaceIndex> filled;  // places that got a newcomer
  std::vector<PlaceIndex> moved;  // places whose survivor moved here from another one
  Cost before, after;  // with all places held / as chosen; before: 0 if not known
  std::string why;  // one sentence: who, where, what it costs, against what
};

// `problem.former`: by place, as it was, with nodes that are gone among them; who is still there is
// in `problem.candidates`, who is not there any more is not. kNoNode: a place nobody held, of as
// many slots as the largest newcomer has.
base::Result<Replacement> replace(const Problem& problem, Rerank rerank, const MovingCosts& costs);

}  // namespace robustrun::topo
