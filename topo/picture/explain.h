#pragma once
// Explains in a few lines why a node has its place, or none. Pure.
//
// Lists the node's first group of each kind and the switches that it touches, then the cheapest
// alternative of each kind. For a working node: an exchange with a node below another switch, and a
// spare in its place. For any other node: this node in the place of a working one. At most about
// kTriesMax alternatives of a kind are tried; of working nodes, one per switch.

#include <cstddef>
#include <string>

#include "topo/place.h"

namespace robustrun::topo {

constexpr std::size_t kTriesMax = 64;

// `placement` solves `problem`; `node` is one of its candidates.
std::string explain(const Problem& problem, const Placement& placement, NodeIndex node);

}  // namespace robustrun::topo
