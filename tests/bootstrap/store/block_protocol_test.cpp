#include <doctest/doctest.h>

#include <string>

#include "base/io/fd.h"
#include "bootstrap/hot/block_profile.h"
#include "bootstrap/store/blob.h"
#include "bootstrap/store/block_protocol.h"
#include "bootstrap/store/http_answer.h"
#include "tests/paths.h"
#include "tests/support/scratch.h"

namespace block_protocol_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

BlockProfile profile_of(std::uint64_t blocks, std::vector<HotBlock> hot) {
  return {blocks * kBlockBytes, 1'700'000'000, std::move(hot)};
}

HttpAnswer answer_of(std::initializer_list<std::string_view> lines) {
  HttpAnswer answer;
  for (const std::string_view line : lines) answer.take_line(line);
  return answer;
}

const WantedAnswer kWanted{10, 19, 100, "etag \"v1\""};

base::Errc refusal(const HttpAnswer& answer) {
  const auto range = check_answer(answer, kWanted, "http://host/image");
  REQUIRE_FALSE(range);
  CHECK(range.error().what.find("http://host/image") != std::string::npos);
  return range.error().code;
}

}  // namespace

TEST_CASE("frames are read back from pieces of any size") {
  const std::vector<BlockFrame> sent = {
      {BlockFrameKind::kGet, 1, 77, std::string(1, kGetMayAskOrigin)},
      {BlockFrameKind::kOk, 1, 77, std::string(kBlockPayloadMax, 'b')},
      {BlockFrameKind::kQuit, ~0ULL, 0, ""},
      {BlockFrameKind::kEvent, 0, 0, "a sentence"}};
  std::string stream;
  for (const BlockFrame& frame : sent) stream += encode_block_frame(frame);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{27}, std::size_t{65536}}) {
    BlockFrameReader reader;
    std::vector<BlockFrame> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(std::string_view(stream).substr(at, piece));
      while (auto frame = reader.next().value()) got.push_back(*std::move(frame));
    }
    CHECK(got == sent);
  }
}

TEST_CASE("an invalid frame ends the connection") {
  const std::string right = encode_block_frame({BlockFrameKind::kStatus, 1, 2, ""});
  std::string strange = right;
  strange[0] = 'X';
  std::string unknown = right;
  unknown[4] = 9;
  std::string long_one = right;
  long_one[26] = 0x05;  // longer than a block
  for (const std::string& bytes : {strange, unknown, long_one}) {
    BlockFrameReader reader;
    reader.feed(bytes);
    const auto frame = reader.next();
    REQUIRE_FALSE(frame);
    CHECK(frame.error().code == base::Errc::kProtocol);
  }
}

TEST_CASE("a status is read back; additions of a newer server are ignored") {
  BlockServerStatus status;
  status.key = std::string(32, 'a');
  status.length = 12345;
  status.is_mounted = true;
  status.origin_bytes = 1ULL << 40;
  status.waiting = 3;
  status.trouble = "the origin = gone";
  CHECK(decode_block_status(encode_block_status(status)).value() == status);
  CHECK(decode_block_status("newer=thing\nerrors=4\n").value().errors == 4);
  for (const char* text : {"errors", "errors=x", "mounted=2", "length=-1"}) {
    CHECK_FALSE(decode_block_status(text));
  }
  CHECK_FALSE(decode_block_status(std::string(20'000, '\n')));
}

TEST_CASE("a profile of blocks keeps their order") {
  const auto profile = profile_of(100, {{7, 0}, {8, 0}, {9, 0}, {3, 0}, {4, 1}, {99, 2}, {0, 0}});
  const std::string text = encode_block_profile(profile);
  CHECK(text.find("run 7 3 0\nrun 3 1 0\nrun 4 1 1\nrun 99 1 2\nrun 0 1 0\n") != std::string::npos);
  CHECK(decode_block_profile(text).value() == profile);
  CHECK(decode_block_profile(encode_block_profile(profile_of(1, {}))).value().blocks.empty());
}

TEST_CASE("a profile of blocks that an earlier version wrote is read") {
  const std::string path = in_source("tests/golden/block-profile-v3.txt");
  const auto profile = decode_block_profile(base::read_file(path, 1000).value()).value();
  CHECK(profile.length == 104'857'600);
  CHECK(profile.made_s == 1'700'000'000);
  CHECK(profile.blocks == std::vector<HotBlock>{{7, 0}, {8, 0}, {9, 0}, {40, 1}});
}

TEST_CASE("a profile of blocks that is incomplete, or names missing blocks, is not used") {
  const std::string text = encode_block_profile(profile_of(10, {{7, 0}, {3, 0}}));
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    CHECK_FALSE(decode_block_profile(text.substr(0, cut)));
  }
  for (const auto& bad :
       {profile_of(10, {{10, 0}}), profile_of(10, {{3, 0}, {3, 0}}), profile_of(10, {{3, 9}}),
        profile_of(0, {}), BlockProfile{kBlobBytesMax + 1, 0, {}}}) {
    CHECK_FALSE(decode_block_profile(encode_block_profile(bad)));
  }
}

TEST_CASE("blocks that newer starts do not read stay for a while, after theirs") {
  const auto before = profile_of(10, {{1, 0}, {2, 1}, {3, 2}, {4, 0}});
  const auto merged = merge_block_profiles(profile_of(10, {{4, 0}, {5, 0}}), before);
  CHECK(merged.blocks == std::vector<HotBlock>{{4, 0}, {5, 0}, {1, 1}, {2, 2}});
  const auto other = merge_block_profiles(profile_of(11, {{4, 0}}), before);
  CHECK(other.blocks == std::vector<HotBlock>{{4, 0}});
}

TEST_CASE("a file has the same key everywhere, and another one after a change") {
  const test::Scratch scratch;
  const std::string bytes(3 * kBlockBytes, 'x');
  const std::string path = scratch.path("image");
  REQUIRE(base::write_file_atomically(path, bytes, 0600));
  const Blob blob = blob_of_file(path).value();
  CHECK(is_blob_key(blob.key));
  CHECK(blob.length == bytes.size());
  std::filesystem::rename(path, scratch.path("moved"));
  CHECK(blob_of_file(scratch.path("moved")).value().key == blob.key);
  std::filesystem::last_write_time(scratch.path("moved"), {});
  CHECK(blob_of_file(scratch.path("moved")).value().key != blob.key);
  const std::string edge(kBlobEdgeBytes, 'x');
  CHECK(blob_key(bytes.size(), blob.validator, edge, edge) == blob.key);
  CHECK(blob_key(bytes.size(), blob.validator, edge, std::string(kBlobEdgeBytes, 'y')) != blob.key);
  CHECK(blob_key(5, "ab", "c", "") != blob_key(5, "a", "bc", ""));
  REQUIRE(base::write_file_atomically(path, "", 0600));
  CHECK(blob_of_file(path).error().code == base::Errc::kInvalidArgument);
  CHECK(blob_of_file(scratch.path("nothing")).error().os_errno == ENOENT);
  CHECK_FALSE(blob_of_file("/"));
}

TEST_CASE("the shown form of a source has no secrets") {
  CHECK(shown_source("http://user:secret@host:80/a/b?token=1#x") == "http://host:80/a/b");
  CHECK(shown_source("https://host") == "https://host");
  CHECK(shown_source("https://host/a@b") == "https://host/a@b");
  CHECK(shown_source("/a/b?c") == "/a/b?c");
}

TEST_CASE("only the wanted range of the wanted file is accepted") {
  const HttpAnswer right = answer_of({"HTTP/1.1 206 Partial Content\r\n", "ETag: \"v1\"\r\n",
                                      "content-range: bytes 10-19/100\r\n", "\r\n"});
  CHECK(check_answer(right, kWanted, "x").value() == HttpRange{10, 19, 100});
  HttpAnswer other = right;
  other.content_range = "bytes 0-9/100";
  CHECK(refusal(other) == base::Errc::kProtocol);
  other.content_range = "";
  CHECK(refusal(other) == base::Errc::kProtocol);
  other = right;
  other.content_range = "bytes 10-19/101";
  CHECK(refusal(other) == base::Errc::kConflict);
  other = right;
  other.etag = "\"v2\"";
  CHECK(refusal(other) == base::Errc::kConflict);
  other = right;
  other.etag = "W/\"v1\"";  // a weak ETag says too little about the bytes
  CHECK(refusal(other) == base::Errc::kConflict);
  CHECK(refusal(answer_of({"HTTP/1.1 412 Precondition Failed"})) == base::Errc::kConflict);
  CHECK(refusal(answer_of({"HTTP/1.1 200 OK", "ETag: \"v1\""})) == base::Errc::kProtocol);
  CHECK(refusal(answer_of({"HTTP/1.1 200 OK", "ETag: \"v2\""})) == base::Errc::kConflict);
  CHECK(refusal(answer_of({"HTTP/1.1 404 Not Found"})) == base::Errc::kNotFound);
  CHECK(refusal(answer_of({"HTTP/1.1 403 Forbidden"})) == base::Errc::kPermission);
  CHECK(refusal(answer_of({"HTTP/1.1 503 Unavailable"})) == base::Errc::kUnavailable);
  CHECK(refusal(answer_of({"HTTP/1.1 429 Slow down"})) == base::Errc::kUnavailable);
  CHECK(refusal(answer_of({"HTTP/1.1 416 Range"})) == base::Errc::kConflict);
  CHECK(refusal(answer_of({"nonsense"})) == base::Errc::kProtocol);
}

TEST_CASE("after a redirect only the last response counts") {
  const HttpAnswer answer =
      answer_of({"HTTP/1.1 302 Found", "ETag: \"old\"", "Content-Range: bytes 0-1/2",
                 "HTTP/1.1 206 Partial Content", "Last-Modified: Mon"});
  CHECK(answer.status == 206);
  CHECK(answer.content_range.empty());
  CHECK(answer.validator() == "last-modified Mon");
}

TEST_CASE("a valid content range is read, others are not") {
  CHECK(parse_content_range("Bytes 0-0/1") == HttpRange{0, 0, 1});
  for (const char* value :
       {"", "bytes", "bytes */100", "bytes 0-9/*", "bytes 9-0/100", "bytes 0-100/100",
        "bytes -5/100", "items 0-1/2", "bytes 1/2-3", "bytes 0-18446744073709551616/9"}) {
    CHECK_FALSE(parse_content_range(value));
  }
}

}  // namespace block_protocol_test
