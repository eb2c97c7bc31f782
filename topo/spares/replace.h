#pragma once
// Fills the places of lost nodes. Pure and deterministic.
//
// A newcomer is a candidate that held no place, a survivor one that did. With --rerank=never, each
// vacant place gets the newcomer with the least cost, and no other node moves. With --rerank=nodes,
// a newcomer may take a survivor's place, and the survivor the vacant place, if that pays. With
// --rerank=all, a whole new placement may be used as well, if that pays. A change pays if its gain
// over the steps until the next failure exceeds the cost of moving.

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
  double seconds_per_move = 5;  // for each survivor that moves: its local copies are lost
  double seconds_to_failure = 10800;  // expected time to the next failure: 3 h
  // Share of a step that one unit of weighted spread costs: 10.6 % for about 6 units (Arnold, arXiv
  // 2509.15940, section 5.2).
  double step_share_per_unit = 0.017;
  template <class V>
  void fields(V& v) {
    v(1, "seconds_per_move", seconds_per_move);
    v(2, "seconds_to_failure", seconds_to_failure);
    v(3, "step_share_per_unit", step_share_per_unit);
  }
};

struct Replacement {
  std::vector<NodeIndex> nodes;  // by place; kNoNode: still vacant
  std::vector<PlaceIndex> filled;  // places with a newcomer
  std::vector<PlaceIndex> moved;  // places with a survivor from another place
  // Costs of the former and of the new placement. Both are 0 with kNever, and if a place stays
  // vacant. `before` is also 0 if a place was never held.
  Cost before, after;
  std::string why;  // the choice and its reason in one sentence; empty: no node moves
};

// `problem.former`: by place, its former node, lost nodes included; kNoNode: the place was never
// held, and gets as many slots as the largest newcomer has. `problem.candidates`: the survivors and
// the newcomers.
base::Result<Replacement> replace(const Problem& problem, Rerank rerank, const MovingCosts& costs);

}  // namespace robustrun::topo
