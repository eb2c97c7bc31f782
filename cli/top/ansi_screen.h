#pragma once
// The terminal of this process as a screen: the alternate screen, raw keys, no cursor. The
// destructor restores it, and so do signals that kill the process (SIGABRT, SIGSEGV, …).
//
// Sequences are those of ECMA-48 and xterm's alternate screen, which every terminal of the last
// decades knows; terminfo is not needed (docs/dependencies.md tells why).

#include <memory>

#include "base/core/result.h"
#include "cli/top/screen.h"

namespace robustrun::cli {

// One at a time in a process. kUnavailable: there is no terminal.
[[nodiscard]] base::Result<std::unique_ptr<Screen>> open_ansi_screen(bool colour);

}  // namespace robustrun::cli
