// A job's numbers in words and units.
#include "supervisor/core/report/metric_words.h"

#include <doctest/doctest.h>

#include <limits>

namespace robustrun::supervisor::metric_words_test {

TEST_CASE("robustrun's own metrics have words and units, a script's keep their names") {
  CHECK(metric_words({"save_blocked_ms", 12.345}) == "last save blocked 12 ms");
  CHECK(metric_words({"save_blocked_s", 1.5}) == "all saves blocked 1.50 s");
  CHECK(metric_words({"steps_total", 900}) == "of 900 steps");
  CHECK(metric_words({"tokens_per_s", 1234.5}) == "1234.5 tokens/s");
  CHECK(metric_words({"lr", 0.001}) == "lr 0.001");
  CHECK(metric_title("save_blocked_ms") == "last save blocked, ms");
  CHECK(metric_title("lr") == "lr");
}

TEST_CASE("a time that is no time is shown as a number") {
  for (const double value : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(metric_words({"save_blocked_s", value}).starts_with("all saves blocked "));
  }
}

}  // namespace robustrun::supervisor::metric_words_test
