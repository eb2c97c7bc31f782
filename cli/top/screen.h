#pragma once
// The terminal of this process as a screen: the alternate screen, raw keys, no cursor. The
// destructor restores the terminal, and so do handlers of fatal signals (SIGABRT, SIGSEGV, …).
//
// Control sequences are those of ECMA-48 and of xterm's alternate screen, so terminfo is not needed
// (docs/dependencies.md).

#include <memory>
#include <optional>
#include <utility>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "cli/top/canvas.h"

namespace robustrun::cli {

class Screen {
 public:
  // One at a time in a process. kUnavailable: there is no terminal.
  static base::Result<std::unique_ptr<Screen>> open(bool colour);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  [[nodiscard]] Size size() const;
  // Writes the rows that differ from the last canvas.
  void show(Canvas canvas);
  // The next show() writes all rows.
  void forget() { shown_.reset(); }
  // Readable when a key was pressed. The screen owns the descriptor.
  [[nodiscard]] int keys_fd() const { return keys_.get(); }

 private:
  Screen(base::Fd output, base::Fd keys, bool colour)
      : output_(std::move(output)), keys_(std::move(keys)), colour_(colour) {}
  base::Status enter();

  const base::Fd output_;
  const base::Fd keys_;
  const bool colour_;
  std::optional<Canvas> shown_;
};

}  // namespace robustrun::cli
