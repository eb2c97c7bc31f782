#include <doctest/doctest.h>

#include "agent/output/limits.h"
#include "agent/output/tail_buffer.h"

namespace log_tail_test {

using namespace robustrun::agent;
using Lines = std::vector<std::string>;

TEST_CASE("the tail is the last lines in order, an unfinished one included") {
  TailBuffer tail;
  CHECK(tail.lines(3).empty());
  tail.append("one\ntwo\nthr");
  CHECK(tail.lines(2) == Lines{"two", "thr"});
  tail.append("ee\n");
  CHECK(tail.lines(9) == Lines{"one", "two", "three"});
  tail.append("\n");
  CHECK(tail.lines(2) == Lines{"three", ""});
}

TEST_CASE("of an overwritten line only the last state is in the tail") {
  TailBuffer tail;
  tail.append("10%\r20%\r100%\r\nwindows\r\n30%\r40%\r");
  CHECK(tail.lines(9) == Lines{"100%", "windows", "40%"});
}

TEST_CASE("the tail is bounded in lines, bytes of a line and bytes in all") {
  TailBuffer tail;
  tail.append(std::string(3 * kTailBytes, 'x'));
  REQUIRE(tail.lines(5).size() == 1);
  CHECK(tail.lines(5)[0] == std::string(kTailLineBytesMax, 'x'));
  for (int i = 0; i < 100000; ++i) tail.append("line " + std::to_string(i) + "\n");
  const Lines last = tail.lines(50);
  REQUIRE(last.size() == 50);
  CHECK(last.front() == "line 99950");
  CHECK(last.back() == "line 99999");
  std::size_t sum = 0;
  for (const std::string& line : tail.lines(1000000)) sum += line.size() + 1;
  CHECK(sum <= kTailBytes + 1);
}

}  // namespace log_tail_test
