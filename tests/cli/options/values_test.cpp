#include "cli/options/values.h"

#include <doctest/doctest.h>

#include "cli/options/limits.h"

namespace robustrun::cli::values_test {

using std::chrono::seconds;

TEST_CASE("times are seconds or have a unit") {
  CHECK(parse_duration("90") == seconds(90));
  CHECK(parse_duration("90s") == seconds(90));
  CHECK(parse_duration("15m") == seconds(900));
  CHECK(parse_duration("2h") == seconds(7200));
  CHECK(parse_duration("1d") == seconds(86400));
  CHECK(parse_duration("1.5") == std::chrono::milliseconds(1500));
  CHECK(parse_duration("200ms") == std::chrono::milliseconds(200));
  CHECK(parse_duration(" 3 ") == seconds(3));
  CHECK(parse_duration("0") == seconds(0));
  for (const char* bad : {"", "s", "x", "-1", "-0.5h", "1w", "1h30m", "nan", "inf", "1e300", "ms",
                          "99999999999999999999d"}) {
    INFO(bad);
    CHECK_FALSE(parse_duration(bad).has_value());
  }
  CHECK(parse_duration(std::to_string(kDurationSecondsMax)).has_value());
  CHECK_FALSE(parse_duration(std::to_string(kDurationSecondsMax + 1)).has_value());
}

TEST_CASE("integers are read as Python's int() reads them") {
  CHECK(parse_integer("8") == 8);
  CHECK(parse_integer(" +8\n") == 8);
  CHECK(parse_integer("-3") == -3);
  for (const char* bad : {"", " ", "banana", "1.0", "0x10", "8 9", "+-1", "99999999999999999999"}) {
    INFO(bad);
    CHECK_FALSE(parse_integer(bad).has_value());
  }
}

TEST_CASE("a double comma in a list of filters is a comma") {
  CHECK(parse_filters("apple,orange") == std::vector<std::string>{"apple", "orange"});
  CHECK(parse_filters("a,,b,c") == std::vector<std::string>{"a,b", "c"});
  CHECK(parse_filters("").empty());
  CHECK(parse_filters(",,,x") == std::vector<std::string>{",", "x"});
  const std::vector<std::string> filters{",", "loss, step", "plain"};
  CHECK(parse_filters(filters_text(filters)) == filters);
}

TEST_CASE("errors of values have argparse's words") {
  const auto error = [](OptionId id, const char* text) {
    return value_error(option(id), text).value_or("");
  };
  CHECK(error(OptionId::kMasterPort, "x") == "invalid int value: 'x'");
  CHECK(error(OptionId::kMonitorInterval, "x") == "invalid float value: 'x'");
  CHECK(error(OptionId::kStartMethod, "x") ==
        "invalid choice: 'x' (choose from 'spawn', 'fork', 'forkserver')");
  CHECK(error(OptionId::kMasterPort, "70000") == "must be between 0 and 65535: '70000'");
  CHECK(error(OptionId::kMaxRestarts, "-1") == "must be between 0 and 1000000: '-1'");
  CHECK(error(OptionId::kShutdownTimeout, "-1").find("not negative") != std::string::npos);
  CHECK(error(OptionId::kTimeLimit, "0") == "must be at least 1: '0'");
  CHECK(error(OptionId::kStopAfterSteps, "10").empty());
}

TEST_CASE("shell quoting keeps plain words plain") {
  CHECK(shell_quoted("--lr=3e-4") == "--lr=3e-4");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("a b") == "'a b'");
  CHECK(shell_quoted("it's") == R"('it'\''s')");
  CHECK(shell_quoted("$x") == "'$x'");
}

}  // namespace robustrun::cli::values_test
