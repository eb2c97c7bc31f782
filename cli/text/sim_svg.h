#pragma once
// A study as an SVG document, in the style of the report page: where the time goes under each
// policy, and, if the study tried several checkpoint intervals or numbers of spares, the ETTR by
// each. The document has colours for light and for dark screens. Pure.

#include <string>

#include "simulator/study.h"

namespace robustrun::cli {

[[nodiscard]] std::string sim_svg(const simulator::StudyRequest& request,
                                  const simulator::Study& study);

}  // namespace robustrun::cli
