#include <doctest/doctest.h>

#include "supervisor/console/line_prefix.h"

namespace console_prefix_test {

using namespace robustrun;
using namespace robustrun::supervisor;

namespace {

constexpr StreamId kFirst{{0}, false};
constexpr StreamId kSecond{{1}, false};
constexpr StreamId kFirstErr{{0}, true};

struct Sink {
  void put(StreamId stream, std::string_view bytes) {
    const std::string prefix = std::to_string(stream.rank.value) + (stream.is_stderr ? "e:" : ":");
    prefixer.append(text, stream, prefix, bytes);
  }
  LinePrefixer prefixer;
  std::string text;
};

wire::Output output_of(std::uint32_t rank, std::uint32_t local_rank, bool is_stderr = false) {
  wire::Output output;
  output.rank = {rank};
  output.local_rank = {local_rank};
  output.is_stderr = is_stderr;
  return output;
}

}  // namespace

TEST_CASE("every line gets the prefix, empty ones too") {
  Sink sink;
  sink.put(kFirst, "a\n\nb\n");
  CHECK(sink.text == "0:a\n0:\n0:b\n");
}

TEST_CASE("a line that comes in pieces has one prefix, however it is cut") {
  const std::string text = "one\ntwo\r\n\rbar 1\rbar 2\r\n\nend\n";
  const std::string wanted = "0:one\n0:two\r\n\r0:bar 1\r0:bar 2\r\n0:\n0:end\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    Sink sink;
    for (std::size_t at = 0; at < text.size(); at += step) sink.put(kFirst, text.substr(at, step));
    CHECK(sink.text == wanted);
  }
}

TEST_CASE("a line's own prefix is not shown beside ours, elsewhere in a line it stays") {
  ConsoleStyle style;
  style.prefix = ConsoleStyle::Prefix::kRank;
  const std::string known = known_prefix(style, output_of(1, 0, true));
  LinePrefixer prefixer;
  std::string text;
  prefixer.append(text, {{1}, true}, "1: ", "[rank1]: Traceback\n[rank1]: \n[rank2]: x\nsee ",
                  known);
  prefixer.append(text, {{1}, true}, "1: ", "[rank1]: y\n", known);
  CHECK(text == "1: Traceback\n1: \n1: [rank2]: x\n1: see [rank1]: y\n");
  CHECK(known_prefix({}, output_of(1, 0, true)).empty());
}

TEST_CASE("a stream that comes in the middle of another's line starts a new one") {
  Sink sink;
  sink.put(kFirst, "10%");
  sink.put(kSecond, "hello\n");
  sink.put(kFirst, " 20%\n");
  sink.put(kFirst, "30%\r");
  sink.put(kFirstErr, "warn\n");
  CHECK(sink.text == "0:10%\n1:hello\n0: 20%\n0:30%\r\n0e:warn\n");
}

TEST_CASE("binary bytes stay as they are between prefixes") {
  Sink sink;
  const std::string bytes("\0\xff\xfe\x1b[1m\n\0", 9);
  sink.put(kFirst, bytes);
  CHECK(sink.text == "0:" + bytes.substr(0, 8) + "0:" + bytes.substr(8));
}

TEST_CASE("without a prefix bytes are unchanged, whatever is mixed") {
  LinePrefixer prefixer;
  std::string text;
  prefixer.append(text, kFirst, "", "par");
  prefixer.append(text, kSecond, "", "x\n");
  prefixer.append(text, kFirst, "", "tial\r\n");
  CHECK(text == "parx\ntial\r\n");
  CHECK(!prefixer.in_line());
}

TEST_CASE("prefixes name the rank, dimmed in colour, or follow the template exactly") {
  ConsoleStyle style;
  CHECK(line_prefix(style, "default", "node7", output_of(3, 1)).empty());
  style.prefix = ConsoleStyle::Prefix::kRank;
  CHECK(line_prefix(style, "default", "node7", output_of(3, 1)) == "[rank 3] ");
  style.colour_err = true;
  CHECK(line_prefix(style, "default", "node7", output_of(3, 1)) == "[rank 3] ");
  CHECK(line_prefix(style, "default", "node7", output_of(3, 1, true)) == "\x1b[2m[rank 3]\x1b[0m ");
  style.prefix = ConsoleStyle::Prefix::kTemplate;
  style.prefix_template = "[${role_name}${local_rank}]:";
  CHECK(line_prefix(style, "default", "node7", output_of(9, 1)) == "[default1]:");
  style.prefix_template = "${hostname}:${rank}: ";
  CHECK(line_prefix(style, "default", "node7", output_of(9, 1)) == "node7:9: ");
  style.prefix_template = "$rank/$unknown ";
  CHECK(line_prefix(style, "default", "node7", output_of(9, 1)) == "9/$unknown ");
}

}  // namespace console_prefix_test
