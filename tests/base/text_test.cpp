#include "base/core/text.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace text_test {

using namespace robustrun::base;
using namespace std::string_literals;

TEST_CASE("split keeps empty pieces, and join reverses it") {
  for (const std::string& text : {""s, ","s, "a"s, "a,,b"s, ",a,"s}) {
    const auto views = split(text, ',');
    const std::vector<std::string> pieces(views.begin(), views.end());
    CHECK(join(pieces, ",") == text);
  }
  CHECK(split("a,,b", ',').size() == 3);
  CHECK(split("", ',').size() == 1);
}

TEST_CASE("trim removes blanks only at the ends") {
  CHECK(trim(" \t a b \r\n") == "a b");
  CHECK(trim(" \n ").empty());
  CHECK(trim("").empty());
}

TEST_CASE("nearest finds the mistyped word and no other") {
  const std::vector<std::string> options = {"--nnodes", "--nproc-per-node", "--max-restarts",
                                            "--rdzv-id", "--log-dir"};
  CHECK(nearest("--nproc-per-nod", options) == "--nproc-per-node");
  CHECK(nearest("--nporc-per-node", options) == "--nproc-per-node");
  CHECK(nearest("--mx-restarts", options) == "--max-restarts");
  CHECK(nearest("--logdir", options) == "--log-dir");
  CHECK(nearest("--rdzv-id", options) == "--rdzv-id");
  CHECK(nearest("--verbose-output", options).empty());
  CHECK(nearest("x", std::vector<std::string>{"y"}).empty());
  CHECK(nearest("", options).empty());
  CHECK(nearest(std::string(65, 'a'), std::vector{std::string(65, 'a')}).empty());
}

TEST_CASE("printable leaves UTF-8 alone and makes all other bytes visible") {
  CHECK(printable("größe 日本 😀 ok") == "größe 日本 😀 ok");
  CHECK(printable("a\n\x1b[31m\x7f") == "a\\x0a\\x1b[31m\\x7f");
  CHECK(printable("\0"s) == "\\x00");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");            // C1: a terminal's CSI
  CHECK(printable("a\u202eb\u2066\u061c\u200f") ==  // direction of text
        "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6\\xd8\\x9c\\xe2\\x80\\x8f");
  CHECK(printable("\u2027\u202f\u206a\u00a0") == "\u2027\u202f\u206a\u00a0");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");            // overlong
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");   // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");   // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(printable("\xe6\x97") == "\\xe6\\x97");            // cut
  CHECK(printable("\xe6"
                  "a") ==
        "\\xe6"
        "a");
}

TEST_CASE("json_string escapes what JSON and UTF-8 forbid") {
  CHECK(json_string("a\"b\\c\n\t\x01") == R"("a\"b\\c\n\t\u0001")");
  CHECK(json_string("\xff") == R"("\\xff")");
  CHECK(json_string("日本") == "\"日本\"");
  CHECK(json_string("\0"s) == R"("\u0000")");
}

TEST_CASE("json_string escapes what terminals obey, and marks that change the direction of text") {
  CHECK(json_string("a\xc2\x9b") == R"("a\u009b")");
  CHECK(json_string("\x7f\u202e\u2069\u061c") == R"("\u007f\u202e\u2069\u061c")");
  CHECK(json_string("größe") == "\"größe\"");
}

TEST_CASE("parse_int takes whole numbers within range and nothing else") {
  CHECK(parse_int<int>("-12").value() == -12);
  CHECK(parse_int<std::uint16_t>("65535").value() == 65535);
  for (const char* bad : {"", " 1", "1 ", "+1", "1.0", "0x10", "banana", "--1"}) {
    CAPTURE(bad);
    const auto parsed = parse_int<int>(bad);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == Errc::kInvalidArgument);
  }
  CHECK(parse_int<std::uint16_t>("65536").error().what == "cannot use '65536': out of range");
  CHECK_FALSE(parse_int<unsigned>("-1"));
}

}  // namespace text_test
