#pragma once
// Identifies the source at the server's start: from the source itself, or, if it cannot be reached,
// from what is remembered of it. The source is not contacted if a digest was given and all of that
// content is in the store, whatever source it came from.

#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/blocks/options.h"
#include "bootstrap/blocks/origin.h"

namespace robustrun::bootstrap {

struct OpenedSource {
  std::unique_ptr<Origin> origin;
  // Why the source did not answer; `origin` is then a late one (late_origin.h).
  std::string trouble;
  bool is_looked_at = true;  // whether the source was read now
};

// Retries for options.retry_budget, but only for kNamedPatience if the store has blocks of a blob
// known to come from this source. A signal from `signals` ends it (kCancelled), but only between
// two tries; a try of a source without a known blob may take as long as its file system.
[[nodiscard]] base::Result<OpenedSource> open_source(const ServeOptions& options,
                                                     const base::Clock& clock, int signals);

// Reads a signal from `signals`; returns whether it ends the server. SIGHUP and SIGPIPE do not.
[[nodiscard]] bool is_told_to_end(int signals);

}  // namespace robustrun::bootstrap
