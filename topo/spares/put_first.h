#pragma once
// A placement whose place 0 is held by a certain node (--rank0). Pure.

#include "base/core/result.h"
#include "topo/place.h"

namespace robustrun::topo {

// `placement` solves `problem`; `node` is among its candidates. Ranks are numbered anew such that
// the node comes first and groups stay as they are, where whole nodes make up groups; otherwise it
// changes places with the one that is first. A node that has no place takes that of the nearest
// one. The bound stays that of the problem without this wish. Error: the slots do not fit any more.
base::Result<Placement> put_first(const Problem& problem, Placement placement, NodeIndex node);

}  // namespace robustrun::topo
