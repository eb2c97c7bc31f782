#include "supervisor/core/fault/hang_places.h"

#include <doctest/doctest.h>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor::hang_places_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a place is the same if each of its lines is near one of the other's") {
  CHECK(is_same_place("train.py:87", "train.py:87"));
  CHECK(is_same_place("train.py:87", "train.py:92"));
  CHECK_FALSE(is_same_place("train.py:87", "train.py:93"));
  CHECK_FALSE(is_same_place("train.py:87", "feed.py:87"));
  CHECK(is_same_place("a.py:1, a.py:40", "a.py:2, a.py:41"));
  CHECK_FALSE(is_same_place("a.py:1, a.py:40", "a.py:1"));
  CHECK_FALSE(is_same_place("a.py:1", "a.py:1, a.py:40"));
  CHECK_FALSE(is_same_place("", "a.py:1"));
  CHECK(is_same_place("<string>", "<string>"));
  CHECK_FALSE(is_same_place("a.py:99999999999999999999", "a.py:1"));
}

TEST_CASE("hangs at neighbouring lines add up, and are forgotten together") {
  HangPlaces places;
  CHECK(places.note("train.py:87") == 1);
  CHECK(places.note("train.py:88") == 2);
  CHECK(places.note("train.py:300") == 1);
  places.forget("train.py:90");
  CHECK(places.note("train.py:87") == 1);
  CHECK(places.note("train.py:301") == 2);
  places.note_progress(1h, 1h);
  CHECK(places.note("train.py:301") == 1);
}

TEST_CASE("a place does not drift: all of its lines are near the first") {
  HangPlaces places;
  CHECK(places.note("train.py:87") == 1);
  CHECK(places.note("train.py:92") == 2);
  CHECK(places.note("train.py:97") == 1);
  CHECK(places.note("train.py:82") == 3);
}

TEST_CASE("the number of places is bounded") {
  HangPlaces places;
  for (std::size_t i = 0; i <= kHangPlacesMax; ++i) {
    CHECK(places.note("train.py:" + std::to_string(100 * i)) == 1);
  }
  CHECK(places.note("train.py:0") == 1);  // the oldest
}

}  // namespace
}  // namespace robustrun::supervisor::hang_places_test
