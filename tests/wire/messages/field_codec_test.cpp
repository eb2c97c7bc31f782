#include "wire/messages/field_codec.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "tests/wire/examples.h"
#include "wire/messages/limits.h"

namespace field_codec_test {

using namespace robustrun::wire;
using robustrun::base::Errc;
using robustrun::base::Nanos;
using robustrun::base::Rank;
using robustrun::base::Rng;

namespace {

enum class Colour : std::uint8_t { kRed, kGreen };

struct Inner {
  std::int32_t number = 0;
  template <class V>
  void fields(V& v) {
    v(1, "number", number);
  }
};

struct Everything {
  bool flag = false;
  Colour colour = Colour::kRed;
  std::uint8_t tiny = 0;
  std::int32_t small = 0;
  std::int64_t large = 0;
  std::uint64_t huge = 0;
  double real = 0;
  std::string text;
  Nanos at{};
  Rank rank;
  std::optional<std::uint32_t> maybe;
  std::optional<Inner> maybe_inner;
  std::vector<std::uint32_t> numbers;
  std::vector<Inner> inners;
  template <class V>
  void fields(V& v) {
    v(1, "flag", flag);
    v(2, "colour", colour);
    v(3, "tiny", tiny);
    v(4, "small", small);
    v(5, "large", large);
    v(6, "huge", huge);
    v(7, "real", real);
    v(8, "text", text);
    v(9, "at", at);
    v(10, "rank", rank);
    v(11, "maybe", maybe);
    v(12, "maybe_inner", maybe_inner);
    v(13, "numbers", numbers);
    v(1000, "inners", inners);
  }
};

// The same, as in a version that knows only these two fields.
struct Little {
  std::string text;
  std::vector<Inner> inners;
  template <class V>
  void fields(V& v) {
    v(8, "text", text);
    v(1000, "inners", inners);
  }
};

struct Nested {
  std::vector<Nested> children;
  template <class V>
  void fields(V& v) {
    v(1, "children", children);
  }
};

Everything example() {
  return {.flag = true,
          .colour = Colour::kGreen,
          .tiny = 255,
          .small = std::numeric_limits<std::int32_t>::min(),
          .large = std::numeric_limits<std::int64_t>::min(),
          .huge = std::numeric_limits<std::uint64_t>::max(),
          .real = -0.5,
          .text = std::string("\0\xff", 2),
          .at = Nanos(-1),
          .rank = {7},
          .maybe = 0,
          .maybe_inner = Inner{-3},
          .numbers = {0, 1, 4000000000U},
          .inners = {{1}, {0}, {-1}}};
}

Nested nest(int levels) {
  Nested nested;
  if (levels > 0) nested.children.push_back(nest(levels - 1));
  return nested;
}

}  // namespace

TEST_CASE("every type of member survives the round trip at its extremes") {
  const Everything in = example();
  const auto out = decode<Everything>(encode(in));
  REQUIRE(out);
  CHECK(out->flag);
  CHECK(out->colour == in.colour);
  CHECK(out->tiny == in.tiny);
  CHECK(out->small == in.small);
  CHECK(out->large == in.large);
  CHECK(out->huge == in.huge);
  CHECK(out->real == in.real);
  CHECK(out->text == in.text);
  CHECK(out->at == in.at);
  CHECK(out->rank == in.rank);
  CHECK(out->maybe == in.maybe);
  CHECK(out->maybe_inner->number == -3);
  CHECK(out->numbers == in.numbers);
  REQUIRE(out->inners.size() == 3);
  CHECK(out->inners[2].number == -1);
  CHECK(encode(*out) == encode(in));
}

TEST_CASE("an optional that holds 0 differs from one that holds nothing") {
  CHECK(decode<Everything>(encode(example()))->maybe.has_value());
  CHECK_FALSE(decode<Everything>(encode(Everything{}))->maybe.has_value());
}

TEST_CASE("an older reader skips the fields that it does not know") {
  const auto out = decode<Little>(encode(example()));
  REQUIRE(out);
  CHECK(out->text == example().text);
  CHECK(out->inners.size() == 3);
}

TEST_CASE("unknown fields of every wire type are skipped") {
  std::string bytes = encode(Inner{5});
  FieldWriter writer(bytes);
  writer.put_varint(50, 1);
  writer.put_double(51, 1.0);
  writer.put_bytes(52, "anything");
  bytes += std::string("\xad\x03\x01\x02\x03\x04", 6);  // number 53, fixed32
  writer.put_varint((1 << 29) - 1, 1);                   // the largest number there is
  CHECK(decode<Inner>(bytes)->number == 5);
}

TEST_CASE("a newer reader keeps defaults for what an older writer did not send") {
  const auto out = decode<Everything>(encode(Little{.text = "x", .inners = {}}));
  REQUIRE(out);
  CHECK(out->text == "x");
  CHECK(out->huge == 0);
  CHECK_FALSE(out->maybe_inner.has_value());
}

TEST_CASE("a number in another wire type than its member's counts as unknown") {
  std::string bytes;
  FieldWriter writer(bytes);
  writer.put_bytes(1, "not a number");
  writer.put_varint(8, 3);
  writer.put_varint(7, 3);
  writer.put_varint(12, 3);
  writer.put_bytes(13, "packed");
  const auto out = decode<Everything>(bytes);
  REQUIRE(out);
  CHECK_FALSE(out->flag);
  CHECK(out->text.empty());
  CHECK(out->real == 0);
  CHECK_FALSE(out->maybe_inner.has_value());
  CHECK(out->numbers.empty());
}

TEST_CASE("of a number that comes twice the last value counts") {
  CHECK(decode<Inner>(encode(Inner{1}) + encode(Inner{2}))->number == 2);
}

TEST_CASE("a message cut at any byte but between two fields is damaged") {
  const std::string bytes = encode(example());
  int whole = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto out = decode<Everything>(std::string_view(bytes).substr(0, size));
    if (out) {
      ++whole;
    } else {
      CHECK(out.error().code == Errc::kCorrupt);
    }
  }
  CHECK(whole == 18);  // as many as example() has fields and elements
}

TEST_CASE("invalid protobuf is refused: groups, number 0, endless varints") {
  for (const std::string& bytes :
       {std::string("\x0b"), std::string("\x0c"), std::string("\x00\x01", 2), std::string("\x07"),
        std::string("\x08") + std::string(11, '\xff'), std::string("\x0a\xff\xff\xff\xff\xff\x0f"),
        std::string("\x0a\x05"
                    "abc"),
        std::string("\x09"
                    "1234567")}) {
    const auto out = decode<Everything>(bytes);
    REQUIRE_FALSE(out);
    CHECK(out.error().code == Errc::kCorrupt);
  }
}

TEST_CASE("nesting is limited") {
  CHECK(decode<Nested>(encode(nest(kNestingMax))));
  const auto deep = decode<Nested>(encode(nest(kNestingMax + 1)));
  REQUIRE_FALSE(deep);
  CHECK(deep.error().code == Errc::kLimit);
}

TEST_CASE("the number of fields is limited") {
  std::string bytes;
  FieldWriter writer(bytes);
  for (std::size_t i = 0; i < kFieldsMax; ++i) writer.put_varint(13, 1);
  CHECK(decode<Everything>(bytes)->numbers.size() == kFieldsMax);
  writer.put_varint(13, 1);
  CHECK(decode<Everything>(bytes).error().code == Errc::kLimit);
}

TEST_CASE("random bytes and random damage are decoded or refused, and never crash") {
  const std::uint64_t seed = robustrun::base::system_seed();
  CAPTURE(seed);
  Rng rng(seed);
  for (const auto& example_message : robustrun::test::example_messages()) {
    std::visit(
        [&](const auto& message) {
          using Kind = std::decay_t<decltype(message)>;
          for (int round = 0; round < 200; ++round) {
            std::string bytes = encode(message);
            for (std::uint64_t n = 1 + rng.below(4); n > 0 && !bytes.empty(); --n) {
              bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
            }
            // A decoded message must survive another round trip.
            if (const auto out = decode<Kind>(bytes)) {
              CHECK(encode(*decode<Kind>(encode(*out))) == encode(*out));
            }
          }
        },
        example_message.message);
  }
}

}  // namespace field_codec_test
