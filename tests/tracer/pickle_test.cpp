#include "tracer/pickle.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/sanitized.h"
#include "tracer/limits.h"

namespace pickle_test {

using namespace robustrun;
using namespace std::string_literals;
using base::Errc;
using tracer::read_pickle;

namespace {

const std::string kBegin = "\x80\x02"s;

std::string text(const std::string& value) {
  std::string out = "X";
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value.size() >> shift);
  return out + value;
}

std::string repeat(const std::string& piece, std::size_t times) {
  std::string out;
  out.reserve(piece.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

base::Error error_of(const std::string& body) {
  const auto read = read_pickle(kBegin + body);
  REQUIRE_FALSE(read);
  return read.error();
}

}  // namespace

TEST_CASE("every kind of value that torch writes is read") {
  const auto read = read_pickle(
      kBegin + "}(" + text("none") + "N" + text("yes") + "\x88" + text("no") + "\x89" +
      text("byte") + "K\xff" + text("short") + "M\x01\x02"s + text("int") + "J\xff\xff\xff\xff"s +
      text("long") + "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s + text("tiny") + "\x8a\x01\xfe"s +
      text("zero") + "\x8a\x00"s + text("float") + "G\x3f\xf8\0\0\0\0\0\0"s + text("list") +
      "](K\x07K\x08" + "e" + text("one") + "K\x01\x85" + text("two") + "K\x01K\x02\x86" +
      text("three") + "K\x01K\x02K\x03\x87" + text("four") + "(K\x01K\x02K\x03K\x04t" +
      text("empty") + ")u.");
  REQUIRE(read);
  const tracer::Value root = read->root();
  CHECK(root.size() == 16);
  CHECK(root["none"]);
  CHECK_FALSE(root["none"].integer());
  CHECK(root["yes"].boolean() == true);
  CHECK(root["no"].boolean() == false);
  CHECK(root["byte"].integer() == 255);
  CHECK(root["short"].integer() == 0x201);
  CHECK(root["int"].integer() == -1);
  CHECK(root["long"].integer() == INT64_MIN);
  CHECK(root["tiny"].integer() == -2);
  CHECK(root["zero"].integer() == 0);
  CHECK(root["float"].number() == 1.5);
  CHECK(root["list"].at(1).integer() == 8);
  CHECK_FALSE(root["list"].at(2));
  CHECK(root["one"].size() == 1);
  CHECK(root["two"].at(1).integer() == 2);
  CHECK(root["three"].at(2).integer() == 3);
  CHECK(root["four"].at(3).integer() == 4);
  CHECK(root["empty"].is_list());
  CHECK(root["empty"].size() == 0);
  CHECK_FALSE(root["missing"]);
}

TEST_CASE("a value from the memo is the same object, including later additions") {
  const auto read = read_pickle(kBegin + "](]q\x00h\x00(K\x05"s + "eh\x00"s + "e.");
  REQUIRE(read);
  REQUIRE(read->root().size() == 3);
  CHECK(read->root().at(0).at(0).integer() == 5);
  CHECK(read->root().at(2).at(0).integer() == 5);
}

TEST_CASE("what Python writes after loading a dump is read, in every protocol that it has") {
  // pickle.dumps({"a": [7], "b": {"a": (1, "x")}, "c": []}, protocol)
  const std::string two = "\x80\x02}q\x00(X\x01\0\0\0aq\x01]q\x02K\x07"s +
                          "aX\x01\0\0\0bq\x03}q\x04h\x01K\x01X\x01\0\0\0xq\x05\x86q\x06sX\x01"s +
                          "\0\0\0cq\x07]q\x08u."s;
  const std::string four = "\x80\x04\x95\x25\0\0\0\0\0\0\0}\x94(\x8c\x01"s + "a\x94]\x94K\x07"s +
                           "a\x8c\x01"s + "b\x94}\x94h\x01K\x01\x8c\x01x\x94\x86\x94s\x8c\x01"s +
                           "c\x94]\x94u."s;
  std::string three = two, five = four;
  three[1] = '\x03';
  five[1] = '\x05';
  for (const std::string& bytes : {two, three, four, five}) {
    CAPTURE(int{bytes[1]});
    const auto read = read_pickle(bytes);
    REQUIRE(read);
    const tracer::Value root = read->root();
    CHECK(root.size() == 3);
    CHECK(root["a"].size() == 1);
    CHECK(root["a"].at(0).integer() == 7);
    CHECK(root["b"]["a"].at(0).integer() == 1);
    CHECK(root["b"]["a"].at(1).text() == "x");
    CHECK(root["c"].is_list());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CHECK_FALSE(read_pickle(bytes.substr(0, size)));
    }
  }
}

TEST_CASE("a list that holds itself does no harm") {
  const auto read = read_pickle(kBegin + "]q\x00(h\x00"s + "e.");
  REQUIRE(read);
  CHECK(read->root().at(0).at(0).at(0).size() == 1);
}

TEST_CASE("the memo may exceed 256 values") {
  const auto read = read_pickle(kBegin + "](" + [] {
    std::string body;
    for (int i = 0; i < 300; ++i) {
      body += text(std::to_string(i));
      body += i < 256 ? "q"s + static_cast<char>(i) : "r"s + static_cast<char>(i) + "\x01\0\0"s;
    }
    return body;
  }() + "j\x2b\x01\0\0"s + "e.");
  REQUIRE(read);
  CHECK(read->root().at(300).text() == "299");
}

TEST_CASE("an opcode that could run something is refused with its name and place") {
  const base::Error error = error_of("cos\nsystem\n" + text("id") + "\x85R.");
  CHECK(error.code == Errc::kCorrupt);
  CHECK(error.what.find("GLOBAL") != std::string::npos);
  CHECK(error.what.find("byte 2") != std::string::npos);
  for (const auto& [opcode, name] :
       std::initializer_list<std::pair<char, const char*>>{{'R', "REDUCE"},
                                                           {'b', "BUILD"},
                                                           {'i', "INST"},
                                                           {'o', "OBJ"},
                                                           {'P', "PERSID"},
                                                           {'Q', "BINPERSID"},
                                                           {'\x81', "NEWOBJ"},
                                                           {'\x82', "EXT1"},
                                                           {'\x92', "NEWOBJ_EX"},
                                                           {'\x93', "STACK_GLOBAL"}}) {
    CAPTURE(name);
    CHECK(error_of("N"s + opcode).what.find(name) != std::string::npos);
  }
}

TEST_CASE("every opcode that no dump needs is refused, whatever is on the stack") {
  const std::string known = "(.JKMNX]aehjqrstu}G)\x80\x85\x86\x87\x88\x89\x8a\x8c\x94\x95";
  int refused = 0;
  for (int opcode = 0; opcode < 256; ++opcode) {
    if (known.find(static_cast<char>(opcode)) != std::string::npos) continue;
    CAPTURE(opcode);
    const base::Error error = error_of("NNN"s + static_cast<char>(opcode) + "\0\0\0\0."s);
    CHECK(error.what.find("refused") != std::string::npos);
    ++refused;
  }
  CHECK(refused == 256 - 30);
}

TEST_CASE("a pickle that is cut anywhere is refused") {
  const std::string complete = kBegin + "}q\x00("s + text("a") + "q\x01"s +
                               "\x8a\x08\x01\0\0\0\0\0\0\0"s + text("b") + "](J\1\0\0\0M\1\0eu."s;
  REQUIRE(read_pickle(complete));
  for (std::size_t size = 0; size < complete.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(read_pickle(complete.substr(0, size)));
  }
}

TEST_CASE("inconsistent input is refused") {
  CHECK(error_of(".").code == Errc::kCorrupt);            // nothing to return
  CHECK(error_of("NN.").code == Errc::kCorrupt);          // two values
  CHECK(error_of("(N.").code == Errc::kCorrupt);          // an open mark
  CHECK(error_of("N(N.").code == Errc::kCorrupt);         // the value below the mark
  CHECK(error_of("K\x01(K\x02" + "e."s).code == Errc::kCorrupt);   // append to a number
  CHECK(error_of("](K\x01K\x02u.").code == Errc::kCorrupt);        // items of a list
  CHECK(error_of("}(K\x01u.").code == Errc::kCorrupt);    // a key alone
  CHECK(error_of("Nu.").code == Errc::kCorrupt);          // no mark
  CHECK(error_of("\x85.").code == Errc::kCorrupt);        // a tuple of nothing
  CHECK(error_of("h\x00."s).code == Errc::kCorrupt);      // never memoized
  CHECK(error_of("Nq\x05.").code == Errc::kCorrupt);      // a gap in the memo
  CHECK(error_of("q\x00."s).code == Errc::kCorrupt);      // nothing to memoize
  CHECK(error_of("\x8a\x09" + "123456789."s).code == Errc::kCorrupt);
  CHECK(error_of("N\x80\x02.").code == Errc::kCorrupt);   // a second one
  CHECK(error_of("N.N").code == Errc::kCorrupt);          // something behind it
  CHECK(error_of("K\x01K\x02" + "a."s).code == Errc::kCorrupt);   // append to a number
  CHECK(error_of("]a."s).code == Errc::kCorrupt);         // append nothing
  CHECK(error_of("]K\x01K\x02s."s).code == Errc::kCorrupt);       // an item of a list
  CHECK(error_of("}K\x01s."s).code == Errc::kCorrupt);    // a key alone
  CHECK(error_of("\x94.").code == Errc::kCorrupt);        // nothing to memoize
  CHECK(error_of("\x95\x09\0\0\0\0\0\0\0N."s).code == Errc::kCorrupt);  // a frame that is cut
  CHECK_FALSE(read_pickle("\x80\x01N."s));                // other protocols
  CHECK_FALSE(read_pickle("\x80\x06N."s));
  CHECK_FALSE(read_pickle(""));
  CHECK_FALSE(read_pickle("N."));
}

// Large inputs; sanitizers need minutes for them, and the fuzzer finds what they could.
TEST_CASE("a pickle reaches its limits and no further" *
          doctest::skip(robustrun::test::kSanitized)) {
  CHECK(error_of(repeat("(", tracer::kDocumentDepthMax + 1)).code == Errc::kLimit);
  CHECK(error_of(repeat("N", tracer::kPickleStackMax + 1)).code == Errc::kLimit);
  CHECK(error_of("Nr\xff\xff\xff\xff.").code == Errc::kLimit);
  CHECK(error_of(repeat("]q\x00"s, tracer::kPickleStackMax + 1)).code == Errc::kLimit);
  // Short-lived values count, too: tuples of tuples.
  CHECK(error_of("N" + repeat("\x85", tracer::kDocumentValuesMax)).code == Errc::kLimit);
  CHECK(error_of(std::string(tracer::kDocumentBytesMax, 'N')).code == Errc::kLimit);
}

TEST_CASE("JSON reaches its limits and no further" * doctest::skip(robustrun::test::kSanitized)) {
  const auto code = [](const std::string& json) {
    const auto read = tracer::read_json(json);
    return read ? Errc::kInternal : read.error().code;
  };
  CHECK(code(repeat("[", tracer::kDocumentDepthMax + 1)) == Errc::kLimit);
  CHECK(code("[" + repeat("1,", tracer::kDocumentValuesMax) + "1]") == Errc::kLimit);
  CHECK(code(std::string(tracer::kDocumentBytesMax + 1, ' ')) == Errc::kLimit);
  CHECK(code("{\"a\":1,}") == Errc::kCorrupt);
  CHECK(code("") == Errc::kCorrupt);
  CHECK(code("1 2") == Errc::kCorrupt);
  CHECK(code("[1e999]") == Errc::kCorrupt);
  CHECK(code("[\"\xff\"]") == Errc::kCorrupt);
}

TEST_CASE("JSON of every kind is read") {
  const auto read = tracer::read_json(
      R"({"a":null,"b":[true,false,-3,18446744073709551615,1.5,"t"],"c":{"d":"17"}})");
  REQUIRE(read);
  const tracer::Value root = read->root();
  CHECK(root["a"]);
  CHECK(root["b"].at(0).boolean() == true);
  CHECK(root["b"].at(2).integer() == -3);
  CHECK_FALSE(root["b"].at(3).integer());
  CHECK(root["b"].at(3).number() == doctest::Approx(1.8446744073709552e19));
  CHECK(root["b"].at(5).text() == "t");
  CHECK(root["c"]["d"].integer_or_digits() == 17);
  CHECK_FALSE(root["c"]["d"].integer());
  CHECK(root.member(2).first == "c");
}

}  // namespace pickle_test
