#pragma once
// The screen that a view is shown on. Its only implementation writes to a terminal
// (ansi_screen.h); tests look at the Canvas itself.

#include "cli/top/canvas.h"

namespace robustrun::cli {

class Screen {
 public:
  virtual ~Screen() = default;
  [[nodiscard]] virtual Size size() const = 0;
  // Writes what differs from the canvas before.
  virtual void show(Canvas canvas) = 0;
  // The next show() writes all of it.
  virtual void forget() = 0;
  // A descriptor that can be read when a key was pressed; -1: none. Not to be closed.
  [[nodiscard]] virtual int keys_fd() const = 0;
};

}  // namespace robustrun::cli
