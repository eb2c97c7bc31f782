#pragma once
// Reads a specification of data, in TOML (docs/data.md), into the Spec that loader/ plans with.
// Pure.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "loader/plan/spec.h"

namespace robustrun::cli {

// `path` is for messages alone. Errors are "PATH:LINE:COLUMN: what", or "PATH: what" if they
// concern the whole specification.
[[nodiscard]] base::Result<loader::Spec> parse_data_spec(std::string_view text,
                                                         const std::string& path);

}  // namespace robustrun::cli
