#include "supervisor/core/fault/hang_places.h"

#include <algorithm>

#include "base/core/result.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

std::uint32_t HangPlaces::note(const std::string& line) {
  RR_ASSERT(!line.empty());
  Place place{line, 0, {}};
  const auto known = std::ranges::find(places_, line, &Place::line);
  if (known != places_.end()) {
    place.hangs = known->hangs;
    places_.erase(known);
  }
  ++place.hangs;
  places_.push_back(place);
  if (places_.size() > kHangPlacesMax) places_.erase(places_.begin());
  return place.hangs;
}

void HangPlaces::forget(const std::string& line) {
  std::erase_if(places_, [&](const Place& place) { return place.line == line; });
}

void HangPlaces::note_progress(base::Nanos amount, base::Nanos window) {
  for (Place& place : places_) place.progress += std::max(amount, base::Nanos{});
  std::erase_if(places_, [&](const Place& place) { return place.progress >= window; });
}

}  // namespace robustrun::supervisor
