#include "base/core/words.h"

#include <doctest/doctest.h>

#include <chrono>

namespace robustrun::base::words_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("one thing is singular") {
  CHECK(counted(0, "step") == "0 steps");
  CHECK(counted(1, "step") == "1 step");
  CHECK(counted(2, "other node") == "2 other nodes");
}

TEST_CASE("given times are printed as given") {
  CHECK(in_seconds(milliseconds(1500)) == "1.5 s");
  CHECK(in_seconds(seconds(3600)) == "3600 s");
  CHECK(in_seconds(seconds(86'400)) == "86400 s");
  CHECK(in_seconds(Nanos(0)) == "0 s");
}

TEST_CASE("durations are printed as people say them") {
  CHECK(duration_words(Nanos(0)) == "0.0 ms");
  CHECK(duration_words(microseconds(412)) == "0.4 ms");
  CHECK(duration_words(milliseconds(12)) == "12 ms");
  CHECK(duration_words(milliseconds(2410)) == "2.41 s");
  CHECK(duration_words(milliseconds(59999)) == "1 min 00 s");
  CHECK(duration_words(seconds(192)) == "3 min 12 s");
  CHECK(duration_words(seconds(7500)) == "2 h 05 min");
}

TEST_CASE("rough durations are shorter") {
  CHECK(rough_duration_words(milliseconds(4120)) == "4.1 s");
  CHECK(rough_duration_words(microseconds(12'300)) == "12 ms");
  CHECK(rough_duration_words(milliseconds(950)) == "950 ms");
  CHECK(rough_duration_words(seconds(125)) == "2 min 5 s");
}

TEST_CASE("times as a clock shows them, to the nearest second") {
  CHECK(clock_words(milliseconds(6400)) == "0:06");
  CHECK(clock_words(milliseconds(59'600)) == "1:00");
  CHECK(clock_words(milliseconds(22'600'000)) == "6:16:40");
}

}  // namespace
}  // namespace robustrun::base::words_test
