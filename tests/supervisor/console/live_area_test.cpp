#include "supervisor/console/live_area.h"

#include <doctest/doctest.h>

#include <string>

namespace robustrun::supervisor {
namespace live_area_test {

constexpr TerminalSize kSize{24, 80};

TEST_CASE("nothing is written while nothing changes") {
  LiveArea area;
  CHECK(area.draw(kSize, {}).empty());
  CHECK(!area.draw(kSize, {"step 1"}).empty());
  CHECK(area.draw(kSize, {"step 1"}).empty());
  const std::string changed = area.draw(kSize, {"step 2"});
  CHECK(changed ==
        "\x1b"
        "7\x1b[24;1H\x1b[2Kstep 2\x1b"
        "8");  // no new region
}

TEST_CASE("the lines are outside of the scrolling region") {
  LiveArea area;
  const std::string bytes = area.draw(kSize, {"bar", "line"});
  CHECK(bytes.find("\x1b[1;22r") != std::string::npos);
  CHECK(bytes.find("\x1b[23;1H\x1b[2Kbar") != std::string::npos);
  CHECK(bytes.find("\x1b[24;1H\x1b[2Kline") != std::string::npos);
  CHECK(area.draw(kSize, {"line"}).find("\x1b[1;23r") != std::string::npos);
  CHECK(area.draw({30, 80}, {"line"}).find("\x1b[1;29r") != std::string::npos);
}

TEST_CASE("lines are cut to the width, between characters") {
  LiveArea area;
  const std::string bytes = area.draw({24, 6}, {"a\u2588\u2588\u2588\u2588\u2588z"});
  CHECK(bytes.find("a\u2588\u2588\u2588\u2588\x1b") != std::string::npos);
}

TEST_CASE("the whole screen is given back, also when it becomes too small") {
  LiveArea area;
  CHECK(area.release().empty());
  (void)area.draw(kSize, {"line"});
  const std::string bytes = area.release();
  CHECK(bytes.find("\x1b[24;1H\x1b[2K") != std::string::npos);
  CHECK(bytes.find("\x1b[r") != std::string::npos);
  CHECK(area.release().empty());
  (void)area.draw(kSize, {"line"});
  CHECK(area.draw({3, 80}, {"line"}).find("\x1b[r") != std::string::npos);
  CHECK(area.draw({3, 80}, {"line"}).empty());
}

}  // namespace live_area_test
}  // namespace robustrun::supervisor
