#pragma once
// An origin that could not be reached when the server started, but whose blob is known from before.
//
// It is opened at the first read, and again at each later one until it answers; concurrent calls
// wait for the same try. It must have the known blob: otherwise reads fail with kConflict,
// because blocks of two files must not be mixed.

#include <functional>
#include <memory>

#include "bootstrap/blocks/origin.h"

namespace robustrun::bootstrap {

using OpenOrigin = std::function<base::Result<std::unique_ptr<Origin>>()>;

// `known`: key and length of the blob. `shown`: the source as shown to users. `is_checked`: the
// whole content is checked against a digest in the end, so any source of that length will do.
[[nodiscard]] std::unique_ptr<Origin> late_origin(Blob known, std::string shown, OpenOrigin open,
                                                  bool is_checked = false);

}  // namespace robustrun::bootstrap
