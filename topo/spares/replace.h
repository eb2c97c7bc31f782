#pragma once
// Fills the places of lost nodes. Pure and deterministic.
//
// --rerank=never: each vacant place gets the newcomer with the least cost; no other node moves.
// nodes: a newcomer may take a survivor's place, and the survivor the vacant place, if that pays.
// all: a whole fresh placement may be used, if that pays. It pays if the gain over the steps until
// the next failure exceeds the cost of moving.

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
  // Share of a step per unit of weighted spread: 10.6 % for about 6 units (Arnold 5.2).
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
  // Of the former and of the chosen placement; 0 with kNever, or if a place stays vacant. `before`
  // is also 0 if a place was never held.
  Cost before, after;
  std::string why;  // the choice and its reason in one sentence
};

// `problem.former`: by place, the former placement, with the lost nodes; `problem.candidates` has
// the survivors and the newcomers. kNoNode: a place that was never held, with as many slots as the
// largest newcomer.
base::Result<Replacement> replace(const Problem& problem, Rerank rerank, const MovingCosts& costs);

}  // namespace robustrun::topo
