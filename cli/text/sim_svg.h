#pragma once
// Where the time goes as an SVG document: one bar per policy, of the time that is not productive,
// all to one scale. Pure.

#include <string>

#include "simulator/study.h"

namespace robustrun::cli {

[[nodiscard]] std::string sim_svg(const simulator::StudyRequest& request,
                                  const simulator::Study& study);

}  // namespace robustrun::cli
