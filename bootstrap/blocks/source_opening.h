#pragma once
// Finds out at the server's start what its source is: from the source itself, or, when that cannot
// be reached, from what it was when it was looked at last. Nobody asks the source when all of the
// content that is wanted of it is in the store, whatever source that came from.

#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/blocks/options.h"
#include "bootstrap/blocks/origin.h"

namespace robustrun::bootstrap {

struct OpenedSource {
  std::unique_ptr<Origin> origin;
  std::string trouble;  // why the source did not answer, and it is a late origin (late_origin.h)
  bool is_looked_at = true;  // what it is, it has said now
};

// Asks again for options.retry_budget; for kNamedPatience only when the store knows a blob by this
// name and has blocks of it. Ends early (kCancelled) when `signals` tells it to.
[[nodiscard]] base::Result<OpenedSource> open_source(const ServeOptions& options,
                                                     const base::Clock& clock, int signals);

// Whether a signal that ends the server was taken from `signals`; SIGHUP and SIGPIPE do not.
[[nodiscard]] bool is_told_to_end(int signals);

}  // namespace robustrun::bootstrap
