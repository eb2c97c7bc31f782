#pragma once
// What others than people are told of a decision: its rule as a word, and whether it is about an
// incident. The words are names of metrics' labels and of events (docs/metrics.md,
// docs/formats/events.md): never changed. Pure.

#include <string_view>

#include "supervisor/core/types/actions.h"

namespace robustrun::supervisor {

// "worker_failed"; "unknown" for a rule of a newer version.
[[nodiscard]] std::string_view rule_word(Rule rule);

// Something failed or hangs, and the attempt ends by it.
[[nodiscard]] bool is_incident(Rule rule);
// The run ends by it: nothing more is tried.
[[nodiscard]] bool gives_up(Rule rule);

}  // namespace robustrun::supervisor
