#include <doctest/doctest.h>

#include "agent/output/limits.h"
#include "agent/output/line_filter.h"

namespace log_filter_test {

using namespace robustrun::agent;

TEST_CASE("only lines that hold a substring pass, with the prefix, however they are cut") {
  const std::string text = "loss=1\nnothing\nxx loss=2\nwarn: a\n\nend loss";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    LineFilter filter({"loss", "warn"}, "[default0]:");
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += step) filter.feed(text.substr(at, step), out);
    filter.finish(out);
    CHECK(out ==
          "[default0]:loss=1\n[default0]:xx loss=2\n[default0]:warn: a\n[default0]:end loss\n");
  }
}

TEST_CASE("a line longer than the limit is judged in pieces of at most the limit") {
  LineFilter filter({"needle"}, "");
  std::string out;
  filter.feed(std::string(kLineBytesMax, 'a'), out);
  CHECK(out.empty());
  filter.feed("needle here\nnext\n", out);
  CHECK(out == "needle here\n");
}

}  // namespace log_filter_test
