#pragma once
// Identifies the source's blob at the server's start: from the source itself or, if it cannot be
// reached, from the cache (store/source_name.h). If a digest was given and the store has all of
// that content (store/checked_blob.h), the source is not contacted.

#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/blocks/options.h"
#include "bootstrap/blocks/origin.h"

namespace robustrun::bootstrap {

struct OpenedSource {
  std::unique_ptr<Origin> origin;
  // Why the source did not answer; `origin` is then a late_origin(). Empty: no trouble.
  std::string trouble;
  bool is_looked_at = true;  // whether the source was read now
};

// Retries for options.retry_budget, but at most for kNamedPatience if the store has blocks of a
// blob known to come from this source. A signal from `signals` ends the retries (kCancelled), but
// only between two tries. A try of a source without a known blob blocks as long as its file system
// does.
[[nodiscard]] base::Result<OpenedSource> open_source(const ServeOptions& options,
                                                     const base::Clock& clock, int signals);

// Reads a signal from `signals`, a signalfd. Returns whether the signal ends the server: SIGTERM
// and SIGINT do.
[[nodiscard]] bool is_told_to_end(int signals);

}  // namespace robustrun::bootstrap
