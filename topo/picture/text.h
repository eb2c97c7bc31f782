#pragma once
// A placement as a few lines of text: one line per switch, one character per node. Pure.

#include <cstddef>
#include <string>

#include "topo/picture/scene.h"

namespace robustrun::topo {

struct TextPictureStyle {
  std::size_t columns = 80;     // no line is wider
  std::size_t lines_max = 40;  // of switches: where there are more, the levels below are left out
  bool colour = false;  // with ANSI colours
};

// Ends with a line that says what the characters mean.
std::string picture_text(const Scene& scene, const TextPictureStyle& style);

}  // namespace robustrun::topo
