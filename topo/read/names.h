#pragma once
// Guesses racks from host names: the last resort if nothing else is known. Pure.
//
// The part of a name before the first "." shows its rack in one of two ways:
//   - a number after "rack", "rk" or "r", and another number after that: rack1-node2, dc1r07n3;
//   - exactly two numbers, the first of which is the rack's: a12-03.
// The rack's name is everything up to that number. All hosts must follow one pattern, that is,
// differ only in numbers, and there must be several racks, at least one of them with more than one
// host. Names that look like addresses (ip-10-0-3-17) show no rack.

#include <optional>
#include <span>
#include <string>

#include "topo/network/description.h"

namespace robustrun::topo {

// Describes each rack as a switch on the level "rack", and sets NodeEntry::rack of its nodes.
// Description::source names the rule. nullopt: the names show no racks.
std::optional<Description> read_names(std::span<const std::string> hosts);

}  // namespace robustrun::topo
