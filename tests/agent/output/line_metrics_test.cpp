// --line-metrics: numbers in lines that a script prints.
#include "agent/output/line_metrics.h"

#include <doctest/doctest.h>

#include <cmath>

#include "agent/output/limits.h"

namespace robustrun::agent::line_metrics_test {
namespace {

std::optional<double> in(const char* pattern, std::string_view line) {
  const auto parsed = parse_line_pattern(pattern);
  REQUIRE(parsed);
  return value_in(line, *parsed);
}

TEST_CASE("the number follows the text, with or without spaces") {
  CHECK(in("loss=loss: {value}", "step 3 loss: 2.31 lr 1e-4") == 2.31);
  CHECK(in("loss=loss:{value}", "loss:   -1.5e-3") == -1.5e-3);
  CHECK(in("loss=loss={value}", "loss=7") == 7);
  CHECK_FALSE(in("loss=loss: {value}", "loss: none"));
  CHECK_FALSE(in("loss=loss: {value}", "loss:"));
  CHECK_FALSE(in("loss=loss: {value}", ""));
}

TEST_CASE("nan and inf are values") {
  CHECK(std::isnan(in("loss=loss: {value}", "loss: nan").value_or(0)));
  CHECK(std::isnan(in("loss=loss: {value}", "loss: NaN,").value_or(0)));
  CHECK(std::isinf(in("loss=loss: {value}", "loss: -inf").value_or(0)));
  CHECK(in("loss=loss: {value}", "loss: 1e999") == std::nullopt);
}

TEST_CASE("a star stands for anything between pieces, and what follows must match") {
  CHECK(in("n=iter * norm {value}|", "iter 12 | loss 3 | norm 4.5| x") == 4.5);
  CHECK_FALSE(in("n=iter * norm {value}|", "iter 12 | norm 4.5 x"));
  CHECK_FALSE(in("n=iter * norm {value}", "norm 4.5 iter 3"));
  CHECK(in("n=*loss {value}", "validation loss 4.5") == 4.5);
}

TEST_CASE("a text that matches without a number after it is passed over") {
  CHECK(in("loss=loss {value}", "loss is loss 2.5") == 2.5);
  CHECK(in("loss=aa{value}", "aaaa5") == 5);
}

TEST_CASE("invalid patterns are refused") {
  for (const char* text :
       {"", "loss", "=x{value}", "loss=x", "loss={value}", "loss=*{value}", "loss=a{value}b{value}",
        "loss=a{value}*", "a_name_that_is_far_too_long=x{value}"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_line_pattern(text));
  }
}

TEST_CASE("lines come in pieces, from two streams, and end with either line end") {
  LineMetrics lines(
      {*parse_line_pattern("loss=loss {value}"), *parse_line_pattern("g=norm {value}")});
  lines.feed(false, "epoch 1\nlo");
  lines.feed(true, "norm 3\r");
  lines.feed(false, "ss 2.");
  CHECK(lines.lines() == 1);
  lines.feed(false, "5\nloss 2.25\nloss ");
  CHECK(lines.lines() == 3);
  const std::vector<std::pair<std::string, double>> wanted = {{"g", 3}, {"loss", 2.25}};
  CHECK(lines.values() == wanted);
  lines.feed(false, "\n");
  CHECK(lines.lines() == 3);
}

TEST_CASE("the first line with a value is news, also after many lines without any") {
  LineMetrics lines({*parse_line_pattern("loss=loss {value}")});
  CHECK_FALSE(lines.has_news());
  for (std::uint64_t i = 0; i < kUnmatchedLines; ++i) lines.feed(false, "no number\n");
  CHECK(lines.has_news());
  CHECK_FALSE(lines.has_news());
  lines.feed(false, "loss 3\n");
  CHECK(lines.has_news());
  CHECK_FALSE(lines.has_news());
}

TEST_CASE("of an endless line only the beginning is kept") {
  LineMetrics lines({*parse_line_pattern("loss=loss {value}")});
  const std::string much(kMetricLineBytesMax, 'x');
  for (int i = 0; i < 100; ++i) lines.feed(false, much);
  lines.feed(false, " loss 3\nloss 4\n");
  CHECK(lines.lines() == 1);
  CHECK(lines.values()[0].second == 4);
}

}  // namespace
}  // namespace robustrun::agent::line_metrics_test
