#pragma once
// A placement as a drawing (SVG 1.1): switches as nested boxes, nodes in the colour of their group,
// a legend below. Pure.
//
// Every node has a tooltip (<title>) with its name and ranks. Up to kNamedNodesMax nodes, both are
// also drawn.

#include <cstddef>
#include <string>
#include <string_view>

#include "topo/picture/scene.h"

namespace robustrun::topo {

constexpr std::size_t kNamedNodesMax = 128;

// `caption`: lines above the picture.
std::string picture_svg(const Scene& scene, std::string_view caption);

}  // namespace robustrun::topo
