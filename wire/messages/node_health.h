#pragma once
// Texts of NodeHealth (facts.h), which an agent sends while it watches its machine
// (agent/health/watch.h), if its template says `health`.
//
// An agent reports what it saw, never what should be done about it.

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/messages/facts.h"

namespace robustrun::wire {

// printable() of base/core/text.h, cut to `bytes_max` bytes between characters.
[[nodiscard]] std::string short_text(std::string_view bytes, std::size_t bytes_max);

}  // namespace robustrun::wire
