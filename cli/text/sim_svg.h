#pragma once
// A study as an SVG document, in the style of the report page: where the time goes under each
// policy, and, where the study tried several, the ETTR by checkpoint interval and by spares. The
// document has colours for light and for dark screens. Pure.

#include <string>

#include "simulator/study.h"

namespace robustrun::cli {

[[nodiscard]] std::string sim_svg(const simulator::StudyRequest& request,
                                  const simulator::Study& study);

}  // namespace robustrun::cli
