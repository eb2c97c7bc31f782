// Questions for blocks and their answers: their bytes, and refusals.
#include "wire/bulk/block_exchange.h"

#include <doctest/doctest.h>

#include <string>

#include "wire/bulk/request.h"
#include "wire/messages/limits.h"

namespace robustrun::wire::block_exchange_test {

namespace {

const BlockQuestion kQuestion{
    0x01020304, BlockScope::kOwn, {"00112233445566778899aabbccddeeff", 0x0A0B0C0D}};
const BlockAnswer kAnswer{5, BlockVerdict::kHere, kBlockBytesMax, {0x1122, 0x3344}};

std::string changed(std::string bytes, std::size_t at, char to) {
  bytes[at] = to;
  return bytes;
}

}  // namespace

TEST_CASE("a question and an answer have the bytes of docs/formats/bulk.md") {
  using namespace std::string_literals;
  CHECK(to_bytes(kQuestion) ==
        "RRBq\x04\x03\x02\x01\x01\0\0\0\0\0\0\0"
        "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
        "\x0D\x0C\x0B\x0A\0\0\0\0"s);
  CHECK(
      to_bytes(kAnswer) ==
      "RRBa\x05\0\0\0\0\0\0\0\0\0\x02\0\x22\x11\0\0\0\0\0\0\x44\x33\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s);
  CHECK(parse_block_question(to_bytes(kQuestion)).value() == kQuestion);
  CHECK(parse_block_answer(to_bytes(kAnswer)).value() == kAnswer);
}

TEST_CASE("impossible questions and answers are refused") {
  const std::string question = to_bytes(kQuestion), answer = to_bytes(kAnswer);
  CHECK_FALSE(parse_block_question(question.substr(1)));
  CHECK_FALSE(parse_block_question(answer));
  CHECK_FALSE(parse_block_question(changed(question, 8, 3)));   // scope
  CHECK_FALSE(parse_block_question(changed(question, 12, 1)));  // zero
  CHECK_FALSE(parse_block_answer(question));
  CHECK_FALSE(parse_block_answer(answer + "x"));
  CHECK_FALSE(parse_block_answer(changed(answer, 8, 4)));   // verdict
  CHECK_FALSE(parse_block_answer(changed(answer, 12, 1)));  // a byte too long
  CHECK_FALSE(parse_block_answer(changed(answer, 8, 1)));   // bytes without a block
  CHECK_FALSE(parse_block_answer(changed(answer, 14, 0)));  // a block without bytes
  CHECK_FALSE(parse_block_answer(changed(answer, 39, 1)));  // zero
  CHECK_FALSE(is_blob_name("00112233445566778899AABBCCDDEEFF"));
  CHECK_FALSE(is_blob_name("00112233445566778899aabbccddeef"));
}

TEST_CASE("a request for blocks names no lengths") {
  BulkRequest request{BulkPurpose::kBlocks, {}, 0, 0};
  CHECK(parse_bulk_request(to_bytes(request)).value() == request);
  request.bytes = request.slot_bytes = 1;
  CHECK_FALSE(parse_bulk_request(to_bytes(request)));
  CHECK_FALSE(
      parse_bulk_request(changed(to_bytes(BulkRequest{BulkPurpose::kBlocks, {}, 0, 0}), 8, 5)));
}

}  // namespace robustrun::wire::block_exchange_test
