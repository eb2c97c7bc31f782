#include "checkpoint/format/extent_header.h"

#include <doctest/doctest.h>

#include "checkpoint/format/byte_codec.h"

namespace extent_header_test {

using namespace robustrun::checkpoint;

namespace {

std::string file_with(const std::string& json, std::size_t data) {
  ByteWriter out;
  out.number(std::uint64_t{json.size()});
  out.raw(json);
  out.raw(std::string(data, 'x'));
  return out.take();
}

bool reads(const std::string& json, std::size_t data) {
  const std::string file = file_with(json, data);
  return decode_header(file, file.size()).has_value();
}

}  // namespace

TEST_CASE("a header is read back as written, and its data begins on a page") {
  const std::vector<HeaderEntry> entries = {{"a \"quoted\" \\ ü", "BF16", {3, 2}, 0, 12},
                                            {"__pad_0", "U8", {52}, 12, 64},
                                            {"scalar", "F64", {}, 64, 72},
                                            {"__pad_1", "U8", {4024}, 72, 4096}};
  const std::string header = encode_header(entries);
  CHECK(header.size() % 4096 == 0);
  const auto back = decode_header(header, header.size() + 4096);
  REQUIRE(back);
  CHECK(*back == entries);
}

TEST_CASE("headers that safetensors allows are read, those it refuses are refused") {
  CHECK(reads("{}", 0));
  CHECK(reads(R"({"__metadata__":{"a":"b","c":""},"x":{"data_offsets":[0,4],)"
              R"("dtype":"F32","shape":[ 1 ]} }  )",
              4));
  CHECK(reads(R"({"\ud83d\ude00":{"dtype":"U8","shape":[2,0],"data_offsets":[0,0]}})", 0));
  const char* const bad[] = {
      "",
      "[]",
      "{",
      R"({"x")",
      R"({"x":{}})",
      R"({"x":{"dtype":"F32","shape":[1]}})",
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"NO","shape":[4],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
      R"({"x":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
      R"({"x":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
      R"({"x":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"U8","shape":[4294967296,4294967297],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
      R"("x":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})",
      R"({"x":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
      R"({"\ud83d":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}} y)"};
  for (const char* json : bad) {
    CAPTURE(json);
    CHECK_FALSE(reads(json, 4));
  }
}

TEST_CASE("a wrong length does not make the reader go beyond the file") {
  ByteWriter out;
  out.number(std::uint64_t{UINT64_MAX});
  CHECK_FALSE(decode_header(out.bytes(), 8));
  CHECK_FALSE(decode_header("", 0));
  const std::string file = file_with("{}", 0);
  for (std::size_t size = 0; size < file.size(); ++size) {
    CHECK_FALSE(decode_header(std::string_view(file).substr(0, size), file.size()));
  }
}

}  // namespace extent_header_test
