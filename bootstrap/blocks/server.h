#pragma once
// robustrun-blocks serve: puts the parts together and runs until it is told to end, or nobody needs
// it any more.

#include "base/core/result.h"
#include "bootstrap/blocks/options.h"

namespace robustrun::bootstrap {

// Blocks. After its return some threads may still hang in the source's file system: the process
// ends without waiting for them.
base::Status serve(const ServeOptions& options);

}  // namespace robustrun::bootstrap
