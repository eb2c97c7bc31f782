#include "supervisor/control/operation_request.h"

#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/control/file.h"
#include "supervisor/limits.h"
#include "supervisor/watch/step_rate.h"

namespace robustrun::supervisor::operation_request_test {
namespace {

using namespace std::chrono_literals;
using base::Errc;

ControlFields over_the_wire(const ControlFields& fields) {
  auto read = read_control_message(write_control_message(fields));
  REQUIRE(read);
  return *std::move(read);
}

TEST_CASE("a stop comes back from its fields as it was") {
  StopRequest request;
  CHECK(read_stop_request(over_the_wire(to_fields(request)))->signal == SIGTERM);
  CHECK_FALSE(read_stop_request(over_the_wire(to_fields(request)))->grace);
  request.signal = SIGINT;
  request.grace = 0s;
  const auto back = read_stop_request(over_the_wire(to_fields(request)));
  REQUIRE(back);
  CHECK(back->signal == SIGINT);
  CHECK(back->grace == 0s);
}

TEST_CASE("a stop that cannot be carried out is refused") {
  for (const char* signal : {"0", "9", "19", "-1", "4000", "TERM", "99999999999999999999999999"}) {
    CAPTURE(signal);
    const auto read = read_stop_request({{"signal", signal}});
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Errc::kInvalidArgument);
    CHECK(read.error().what.size() < 200);
  }
  CHECK_FALSE(read_stop_request({{"grace_ns", "-1"}}));
  CHECK_FALSE(read_stop_request({{"grace_ns", "9000000000000000000"}}));
}

TEST_CASE("any bytes go over the wire and back") {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::string utf8 = "caf\xc3\xa9 \xf0\x9f\x90\xa2\n\x1b[1m";
  for (const std::string& bytes : {std::string(), all, utf8, std::string(3, '\xff')}) {
    OutputNews news;
    news.output.bytes = bytes;
    if (!bytes.empty()) news.output.pieces = {{false, 1}, {true, bytes.size() - 1}};
    news.output.position = UINT64_MAX;
    news.output.dropped = 7;
    news.state = "running";
    news.up = true;
    news.exit_code = 143;
    const auto back = read_output_news(over_the_wire(to_fields(news)));
    REQUIRE(back);
    CHECK(back->output.bytes == bytes);
    CHECK(back->output.pieces.size() == news.output.pieces.size());
    CHECK(back->output.position == UINT64_MAX);
    CHECK(back->output.dropped == 7);
    CHECK(back->output.ended);
    CHECK(back->up);
    CHECK(back->exit_code == 143);
  }
}

TEST_CASE("pieces that are not those of the bytes are refused") {
  for (const char* pieces : {"", "o2", "o4", "x3", "o", "o-3", "o3 e1", "o99999999999", "o1e2"}) {
    CAPTURE(pieces);
    CHECK_FALSE(read_output_news({{"bytes", "abc"}, {"pieces", pieces}}));
  }
  CHECK(read_output_news({{"bytes", "abc"}, {"pieces", "o1 e2"}}));
  CHECK_FALSE(read_output_news({{"bytes", "\xc4\x80"}, {"pieces", "o2"}}));   // U+0100
  CHECK_FALSE(read_output_news({{"bytes", "\xc3"}, {"pieces", "o1"}}));
}

TEST_CASE("a question comes back, and one without bounds is refused") {
  const auto back = read_output_question(over_the_wire(to_fields(OutputQuestion{5, 17, 0, 2s})));
  REQUIRE(back);
  CHECK(back->watcher == 5);
  CHECK(back->from == 17);
  CHECK(back->wait == 2s);
  const auto lines = read_output_question(over_the_wire(to_fields(OutputQuestion{0, {}, 20, 0s})));
  REQUIRE(lines);
  CHECK_FALSE(lines->from);
  CHECK(lines->lines == 20);
  CHECK_FALSE(read_output_question({{"lines", "1000001"}}));
  CHECK_FALSE(read_output_question({{"wait_ns", "20000000001"}}));
  CHECK_FALSE(read_output_question({{"from", "-1"}}));
}

TEST_CASE("a control file comes back as it was") {
  const ControlFile file{"/run/user/1000/robustrun/x.1234", "login1", 4711};
  const auto back = parse_control_file(write_control_file(file));
  REQUIRE(back);
  CHECK(back->socket == file.socket);
  CHECK(back->host == file.host);
  CHECK(back->pid == file.pid);
}

TEST_CASE("a control file of others is read as far as it goes") {
  CHECK(parse_control_file("/s")->host.empty());
  CHECK(parse_control_file("/s\npid -4\n")->pid == 0);
  CHECK(parse_control_file("/s\npid 99999999999999\nnew thing\nhost a\n")->host == "a");
  CHECK(parse_control_file("/s\nhost " + std::string(4000, 'h'))->host.size() == 255);
  CHECK(parse_control_file("").error().code == Errc::kCorrupt);
  CHECK(parse_control_file("\nhost a\n").error().code == Errc::kCorrupt);
  CHECK(parse_control_file(std::string(200, 'x')).error().code == Errc::kCorrupt);
}

TEST_CASE("the speed is that of the last half minute") {
  StepRate rate;
  base::Nanos now = 1000s;
  CHECK_FALSE(rate.per_second(now));
  for (std::uint64_t i = 1; i <= 1000; ++i) rate.note(now += 100ms, i);
  CHECK(*rate.per_second(now) == doctest::Approx(10).epsilon(0.02));
  for (std::uint64_t i = 0; i < 400; ++i) rate.note(now += 100ms, 1001 + i / 5);
  CHECK(*rate.per_second(now) == doctest::Approx(2).epsilon(0.1));
  // Nothing moves any more.
  for (int i = 0; i < 400; ++i) rate.note(now += 100ms, 1080);
  CHECK(*rate.per_second(now) == doctest::Approx(0));
  // Another attempt.
  rate.note(now += 100ms, 1);
  CHECK_FALSE(rate.per_second(now));
  for (std::uint64_t i = 2; i <= 20; ++i) rate.note(now += 100ms, i);
  CHECK(*rate.per_second(now) == doctest::Approx(10).epsilon(0.1));
}

TEST_CASE("a step a minute is no standstill") {
  StepRate rate;
  base::Nanos now = 1000s;
  for (std::uint64_t i = 1; i <= 1200; ++i) rate.note(now += 500ms, 1 + i / 120);
  CHECK(*rate.per_second(now) >= 0);
  CHECK(*rate.per_second(now) < 0.1);
}

}  // namespace
}  // namespace robustrun::supervisor::operation_request_test
