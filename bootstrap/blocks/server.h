#pragma once
// The command `robustrun-blocks serve`: connects the parts and runs until it is told to end, or is
// no longer used.

#include "base/core/result.h"
#include "bootstrap/blocks/options.h"

namespace robustrun::bootstrap {

// Blocks. When it returns, some threads may still hang in the source's file system; the process
// ends without waiting for them.
base::Status serve(const ServeOptions& options);

}  // namespace robustrun::bootstrap
