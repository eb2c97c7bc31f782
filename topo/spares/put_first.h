#pragma once
// A placement with a given node at place 0 (--rank0). Pure.

#include "base/core/result.h"
#include "topo/place.h"

namespace robustrun::topo {

// `placement` solves `problem`; `node` is among the problem's candidates. If the parallel sizes fit
// the nodes' slots, renumbers ranks so that `node` comes first and groups keep their nodes;
// otherwise exchanges `node` with the first node. A node without a place first takes the place of
// the nearest node, if possible of one with as many slots. Placement::bound is not changed. Error:
// in the new order, the nodes' slots no longer match the parallel sizes.
base::Result<Placement> put_first(const Problem& problem, Placement placement, NodeIndex node);

}  // namespace robustrun::topo
