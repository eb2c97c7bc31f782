#include "supervisor/core/fault/hang_places.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/core/result.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

struct ScriptLine {
  std::string_view file;
  std::int64_t number = 0;
};

std::vector<ScriptLine> lines_of(std::string_view place) {
  std::vector<ScriptLine> lines;
  while (!place.empty()) {
    const std::size_t end = std::min(place.find(", "), place.size());
    const std::string_view one = place.substr(0, end);
    place.remove_prefix(std::min(end + 2, place.size()));
    const std::size_t colon = one.rfind(':');
    ScriptLine line{one, 0};
    if (colon != std::string_view::npos) {
      const std::string_view digits = one.substr(colon + 1);
      std::uint32_t number = 0;
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (read.ec == std::errc{}) line = {one.substr(0, colon), number};
    }
    lines.push_back(line);
  }
  return lines;
}

bool is_near(const ScriptLine& one, const ScriptLine& other) {
  return one.file == other.file && std::abs(one.number - other.number) <= kHangLinesApart;
}

bool are_all_near(const std::vector<ScriptLine>& some, const std::vector<ScriptLine>& others) {
  return std::ranges::all_of(some, [&](const ScriptLine& one) {
    return std::ranges::any_of(others, [&](const ScriptLine& o) { return is_near(one, o); });
  });
}

}  // namespace

bool is_same_place(std::string_view one, std::string_view other) {
  if (one == other) return true;
  const std::vector<ScriptLine> lines = lines_of(one), others = lines_of(other);
  return !lines.empty() && !others.empty() && are_all_near(lines, others) &&
         are_all_near(others, lines);
}

std::uint32_t HangPlaces::note(const std::string& place) {
  RR_ASSERT(!place.empty());
  Place noted{place, 0, {}};
  const auto known = std::ranges::find_if(
      places_, [&](const Place& before) { return is_same_place(before.line, place); });
  if (known != places_.end()) {
    noted.hangs = known->hangs;
    noted.line = known->line;  // all are near the first: a place does not drift
    places_.erase(known);
  }
  ++noted.hangs;
  places_.push_back(noted);
  if (places_.size() > kHangPlacesMax) places_.erase(places_.begin());
  return noted.hangs;
}

void HangPlaces::forget(const std::string& place) {
  std::erase_if(places_, [&](const Place& before) { return is_same_place(before.line, place); });
}

void HangPlaces::note_progress(base::Nanos amount, base::Nanos window) {
  for (Place& place : places_) place.progress += std::max(amount, base::Nanos{});
  std::erase_if(places_, [&](const Place& place) { return place.progress >= window; });
}

}  // namespace robustrun::supervisor
