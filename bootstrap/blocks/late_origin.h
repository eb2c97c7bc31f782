#pragma once
// An origin that is not open when the server starts, but whose blob is known from an earlier start.
//
// Until the origin answers, each read tries to open it; concurrent reads wait for the same try. The
// origin must have the known blob; otherwise reads fail with kConflict, because blocks of two files
// must not be mixed.

#include <functional>
#include <memory>

#include "bootstrap/blocks/origin.h"

namespace robustrun::bootstrap {

using OpenOrigin = std::function<base::Result<std::unique_ptr<Origin>>()>;

// `known`: key and length of the blob. `shown`: the source as shown to users. `is_checked`: the
// whole content is checked against a digest later, so the origin only needs to have that length.
[[nodiscard]] std::unique_ptr<Origin> late_origin(Blob known, std::string shown, OpenOrigin open,
                                                  bool is_checked = false);

}  // namespace robustrun::bootstrap
