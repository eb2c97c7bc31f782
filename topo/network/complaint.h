#pragma once
// Errors of what describes a cluster, all worded alike. Pure.

#include <cstdint>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::topo {

// "cannot use SOURCE, line LINE: WHAT"; without the line where it is 0. `what` names the fault and
// then what to do, and is safe to show.
std::unexpected<base::Error> cannot_use(std::string_view source, std::uint32_t line,
                                        std::string_view what,
                                        base::Errc code = base::Errc::kInvalidArgument);

// "cannot use 'TEXT': WHY", of an option's value.
std::unexpected<base::Error> bad(std::string_view text, std::string_view why);

}  // namespace robustrun::topo
