#pragma once
// Uniform errors about descriptions of a cluster. Pure.

#include <cstdint>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::topo {

// "cannot use SOURCE, line LINE: WHAT"; without the line if `line` is 0. `what` names the fault,
// then the remedy; it must be printable.
std::unexpected<base::Error> cannot_use(std::string_view source, std::uint32_t line,
                                        std::string_view what,
                                        base::Errc code = base::Errc::kInvalidArgument);

// "cannot use 'TEXT': WHY", for an option's value.
std::unexpected<base::Error> bad(std::string_view text, std::string_view why);

}  // namespace robustrun::topo
