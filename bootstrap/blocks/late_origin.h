#pragma once
// A source that could not be reached when the server began, and whose blob is known from before.
//
// It is opened when the first block is wanted from it, again and again until it answers; calls at
// the same time wait for one of them. What answers must be the known blob: kConflict, which does
// not pass, as blocks of two files must not be mixed.

#include <functional>
#include <memory>

#include "bootstrap/blocks/origin.h"

namespace robustrun::bootstrap {

using OpenOrigin = std::function<base::Result<std::unique_ptr<Origin>>()>;

// `known`: its key and length; `shown`: the source as people may see it. `is_checked`: all of its
// content is compared with a digest in the end, so that any source of that length will do.
[[nodiscard]] std::unique_ptr<Origin> late_origin(Blob known, std::string shown, OpenOrigin open,
                                                  bool is_checked = false);

}  // namespace robustrun::bootstrap
