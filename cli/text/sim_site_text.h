#pragma once
// Failure rates and times that `robustrun sim --from-journal` found in a site's journals, as text
// and as one JSON object (docs/sim.md). Pure.

#include <string>

#include "simulator/study.h"

namespace robustrun::cli {

[[nodiscard]] std::string site_text(const simulator::Site& site);
[[nodiscard]] std::string site_json(const simulator::Site& site);

}  // namespace robustrun::cli
