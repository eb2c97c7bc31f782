#pragma once
// Racks from the names of hosts: the last resort, where nothing else is known. Pure.
//
// A name says its rack in one of two ways, in what stands before the first "." of it:
//   - a number behind "rack", "rk" or "r", and another number further on: rack1-node2, dc1r07n3;
//   - exactly two numbers, the first of which is the rack's: a12-03.
// The rack is all up to that number. Every host has to be named after one pattern (they differ in
// numbers alone), and that has to make several racks, one of them of more than one host. What looks
// like an address (ip-10-0-3-17) says nothing.

#include <optional>
#include <span>
#include <string>

#include "topo/network/description.h"

namespace robustrun::topo {

// A switch and the label `rack` for every rack; `source` says by which rule. nullopt: the names say
// nothing.
std::optional<Description> read_names(std::span<const std::string> hosts);

}  // namespace robustrun::topo
