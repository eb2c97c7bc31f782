#pragma once
// A placement with a given node at place 0 (--rank0). Pure.

#include "base/core/result.h"
#include "topo/place.h"

namespace robustrun::topo {

// `placement` solves `problem`; `node` is among the problem's candidates. Renumbers ranks so that
// the node comes first and groups are preserved, if groups consist of whole nodes; otherwise
// exchanges it with the first node. A node without a place takes that of the nearest node, with as
// many slots if there is one. The bound stays that of the problem without this wish. Error: in the
// new order, the nodes' slots no longer match the parallel sizes.
base::Result<Placement> put_first(const Problem& problem, Placement placement, NodeIndex node);

}  // namespace robustrun::topo
