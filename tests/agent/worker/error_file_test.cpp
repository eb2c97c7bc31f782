#include "agent/worker/error_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/node/limits.h"
#include "agent/node/worker_file.h"
#include "agent/node/worker_json.h"
#include "base/core/clock.h"
#include "tests/scratch_folder.h"

namespace error_file_test {

using namespace robustrun;
using agent::parse_error_file;
using agent::read_error_file;

TEST_CASE("a file that @record writes is read") {
  const test::ScratchFolder folder;
  const std::string path = folder.write(
      "error.json",
      R"({"message": {"message": "RuntimeError: boom", "extraInfo": )"
      R"({"py_callstack": "Traceback (most recent call last): …", "timestamp": "1711111111"}}})");
  const auto file = read_error_file(path);
  REQUIRE(file);
  CHECK(file->path == path);
  CHECK(file->message == "RuntimeError: boom");
  CHECK(file->callstack == "Traceback (most recent call last): …");
  CHECK(file->timestamp_s == 1'711'111'111);
}

TEST_CASE("a plain text message is read, its time as text or number") {
  for (const char* const time : {"\"1711111111\"", "1711111111", "\" 1711111111 \""}) {
    const auto file =
        parse_error_file(std::string(R"({"message": "boom", "timestamp": )") + time + "}");
    REQUIRE(file);
    CHECK(file->message == "boom");
    CHECK(file->callstack.empty());
    CHECK(file->timestamp_s == 1'711'111'111);
  }
}

TEST_CASE("no file is no error") {
  const test::ScratchFolder folder;
  CHECK(!read_error_file(""));
  CHECK(!read_error_file(folder / "none.json"));
  CHECK(!read_error_file(folder.write("file", "") + "/error.json"));
}

TEST_CASE("a file that cannot be parsed is reported as such and causes no failure") {
  const test::ScratchFolder folder;
  struct Row {
    std::string content;
    const char* says;
  };
  const Row rows[] = {{"", "empty"},
                      {"Segmentation fault", "not valid JSON"},
                      {R"({"message": {"mess)", "not valid JSON"},
                      {"\xff\xfe", "not valid JSON"},
                      {"[]", "no \"message\""},
                      {"null", "no \"message\""},
                      {R"({"message": 7})", "no \"message\""},
                      {std::string(agent::kErrorFileBytesMax + 1, ' '), "larger than 1 MiB"},
                      {std::string(agent::kErrorFileBytesMax, '['), "not valid JSON"}};
  for (const Row& row : rows) {
    CAPTURE(row.says);
    const auto file = read_error_file(folder.write("error.json", row.content));
    REQUIRE(file);
    CHECK(file->message.find(row.says) != std::string::npos);
    CHECK(file->timestamp_s == 0);
  }
}

TEST_CASE("a file of a worker that is too large is told with its limit, also a small one") {
  const test::ScratchFolder folder;
  const std::string path = folder.write("names", std::string(2049, 'x'));
  const auto read = agent::read_worker_file(path, 2048);
  REQUIRE_FALSE(read);
  CHECK(read.error().what == "it is larger than 2 KiB");
}

TEST_CASE("parts that are missing or of another type are empty") {
  const auto file = parse_error_file(
      R"({"message": {"message": 3, "extraInfo": {"py_callstack": [], "timestamp": "soon"}}})");
  REQUIRE(file);
  CHECK(file->message.empty());
  CHECK(file->callstack.empty());
  CHECK(file->timestamp_s == 0);
  CHECK(parse_error_file(R"({"message": {}})")->message.empty());
  CHECK(parse_error_file(R"({"message": {"extraInfo": 5}})")->timestamp_s == 0);
  CHECK(parse_error_file(R"({"message": "x", "timestamp": -5})")->timestamp_s == 0);
  CHECK(parse_error_file(R"({"message": "x", "timestamp": 18446744073709551615})")->timestamp_s ==
        0);
}

TEST_CASE("a document is read up to the greatest depth and refused beyond it") {
  const auto nested = [](std::size_t lists) {
    return parse_error_file(R"({"message": "[{\"[", "x": )" + std::string(lists, '[') +
                            std::string(lists, ']') + "}");
  };
  REQUIRE(nested(agent::kJsonDepthMax - 1));
  CHECK(nested(agent::kJsonDepthMax - 1)->message == "[{\"[");
  CHECK(!nested(agent::kJsonDepthMax));
}

TEST_CASE("lone surrogates, as Python writes undecodable bytes, become U+FFFD") {
  const auto message = [](const std::string& text) {
    const auto file = parse_error_file("{\"message\": \"" + text + "\"}");
    return file ? file->message : "(error)";
  };
  CHECK(message(R"(caf\udce9.txt)") == "caf\xef\xbf\xbd.txt");
  CHECK(message(R"(\ud83d\ude00 \udc80)") == "\xf0\x9f\x98\x80 \xef\xbf\xbd");
  CHECK(message(R"(\ud83d)") == "\xef\xbf\xbd");
  CHECK(message(R"(\\udce9 \udce9)") == "\\udce9 \xef\xbf\xbd");
  CHECK(message(R"(\ud83d\ud83d\ude00)") == "\xef\xbf\xbd\xf0\x9f\x98\x80");
}

TEST_CASE("what is not a regular file is not waited for") {
  const test::ScratchFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string zero = folder / "zero";
  REQUIRE(::symlink("/dev/zero", zero.c_str()) == 0);
  for (const std::string& path : {fifo, zero, folder.path()}) {
    CAPTURE(path);
    const auto file = read_error_file(path);
    REQUIRE(file);
    CHECK(file->message.find("not a regular file") != std::string::npos);
  }
}

TEST_CASE("an error file with any cut or changed byte does no harm") {
  const std::uint64_t seed = base::system_seed();
  INFO("seed ", seed);
  base::Rng rng(seed);
  const std::string good =
      R"({"message": {"message": "\ud83d\ude00 b\udc80", "extraInfo": {"timestamp": "17"}}})";
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK(!parse_error_file(good.substr(0, size)));
  }
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
    (void)parse_error_file(bytes).has_value();
  }
}

}  // namespace error_file_test
