#pragma once
// A placement as a few lines of text: one line per switch, one character per node. Pure.

#include <cstddef>
#include <string>

#include "topo/picture/scene.h"

namespace robustrun::topo {

struct TextPictureStyle {
  std::size_t columns = 80;    // width of a line; more only if names need more
  std::size_t lines_max = 40;  // the lowest levels are left out if they have more switches
  bool colour = false;  // with ANSI colours
};

// Ends with a line that explains the characters.
std::string picture_text(const Scene& scene, const TextPictureStyle& style);

}  // namespace robustrun::topo
