// Any bytes as a dump of the Flight Recorder, JSON or pickle: a recording within its limits or an
// error, and memberships that do not contradict themselves.
// Seeds: tests/fixtures/flight_recorder

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tracer/flight_memberships.h"
#include "tracer/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto recording = tracer::read_flight_recording(bytes);
  if (!recording) {
    if (recording.error().what.empty()) std::abort();
    return 0;
  }
  if (recording->entries.size() > tracer::kFlightEntriesMax) std::abort();
  const std::vector<tracer::KnownGroup> known = {{"0", "world", 1, 4, 2}, {"9", "", 2, 2, 1}};
  for (const auto& membership : tracer::memberships(*recording, known, 2, INT64_MAX)) {
    if (membership.done > membership.started || membership.started > membership.entered) {
      std::abort();
    }
    if (membership.pending.size() > tracer::kFlightPendingMax) std::abort();
    if (membership.recent.size() > tracer::kFlightRecentMax) std::abort();
    for (const auto& operation : membership.pending) {
      if (operation.age < base::Nanos{}) std::abort();
    }
  }
  return 0;
}
