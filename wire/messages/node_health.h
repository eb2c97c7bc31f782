#pragma once
// Texts of NodeHealth (facts.h). An agent sends NodeHealth while it watches its machine
// (agent/health/watch.h), if WorkerTemplate::health is set.
//
// An agent reports what it saw, never what should be done about it.

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/messages/facts.h"

namespace robustrun::wire {

// Makes `bytes` printable (base/core/text.h) and cuts the result to `bytes_max` bytes, between
// characters.
[[nodiscard]] std::string short_text(std::string_view bytes, std::size_t bytes_max);

}  // namespace robustrun::wire
