// What the log says about --line-metrics that find nothing.
#include "supervisor/watch/line_news.h"

#include <doctest/doctest.h>

namespace robustrun::supervisor::line_news_test {
namespace {

using namespace std::chrono_literals;

wire::WorkerProgress reading(std::uint64_t read, std::uint64_t matched = 0) {
  wire::WorkerProgress progress;
  progress.user_code_at = 5s;
  progress.lines = matched;
  progress.lines_read = read;
  return progress;
}

TEST_CASE("a hundred lines without a number are told once") {
  LineNews news(true);
  news.note({0}, reading(kUnmatchedLinesMax - 1));
  CHECK_FALSE(news.due(6s));
  news.note({7}, reading(kUnmatchedLinesMax));
  news.note({3}, reading(0));  // its output is not searched
  const auto text = news.due(6s);
  REQUIRE(text);
  CHECK(text->find("199 lines of output") != std::string::npos);
  CHECK_FALSE(news.due(7s));
}

TEST_CASE("a minute of the script without a number is told, but not one of its start") {
  LineNews news(true);
  CHECK_FALSE(news.due(600s));  // it has not begun
  news.note({0}, reading(1));
  CHECK_FALSE(news.due(5s + kUnmatchedTimeMax - 1s));
  const auto text = news.due(5s + kUnmatchedTimeMax);
  REQUIRE(text);
  CHECK(text->find("1 line of output") != std::string::npos);
}

TEST_CASE("one number of either rank is enough") {
  LineNews news(true);
  news.note({7}, reading(500, 1));
  news.note({0}, reading(500));
  CHECK_FALSE(news.due(600s));
}

TEST_CASE("without --line-metrics nothing is told") {
  LineNews news(false);
  news.note({0}, reading(500));
  CHECK_FALSE(news.due(600s));
}

}  // namespace
}  // namespace robustrun::supervisor::line_news_test
