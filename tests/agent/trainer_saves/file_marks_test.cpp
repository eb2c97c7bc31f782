#include "agent/trainer_saves/file_marks.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "agent/trainer_saves/limits.h"
#include "tests/agent/trainer_saves/formats.h"

namespace file_marks_test {

using namespace robustrun;
using agent::judge_json, agent::judge_safetensors, agent::judge_zip, agent::parse_shard_name;
using State = agent::FileVerdict::State;
using test::little_endian, test::safetensors_file, test::zip64_file, test::zip_file;

namespace {

State zip_state(const std::string& file) {
  const std::size_t bytes = std::min(file.size(), agent::kZipTailBytes);
  return judge_zip(std::string_view(file).substr(file.size() - bytes), file.size()).state;
}

agent::FileVerdict judge_tensors(const std::string& file) {
  const std::string_view text(file);
  const auto header = agent::safetensors_header_bytes(text);
  if (!header) return {State::kCutOff, "no length"};
  return judge_safetensors(*header, text.substr(8, std::min(*header, text.size() - 8)),
                           text.size());
}

}  // namespace

TEST_CASE("a zip archive is whole with its end record, and cut off at every byte before") {
  for (const std::string& file : {zip_file("pickle"), zip_file("", "a comment"),
                                  zip_file(std::string(100'000, 'x')), zip64_file("pickle")}) {
    CHECK(zip_state(file) == State::kWhole);
    const std::size_t step = file.size() > 1000 ? 997 : 1;
    for (std::size_t size = 4; size < file.size(); size += step) {
      CHECK(zip_state(file.substr(0, size)) == State::kCutOff);
    }
  }
}

TEST_CASE("an end record's bytes within the data are not the archive's end") {
  const std::string end = zip_file("").substr(zip_file("").size() - 22);
  CHECK(zip_state(zip_file(end)) == State::kWhole);
  CHECK(zip_state("PK\3\4" + end + std::string(100, 'x')) == State::kCutOff);
  // It names a directory that would lie behind it.
  CHECK(zip_state("PK\3\4" + end) == State::kCutOff);
}

TEST_CASE("safetensors are whole when the data are as long as the header says") {
  CHECK(judge_tensors(safetensors_file(100)).state == State::kWhole);
  CHECK(judge_tensors(safetensors_file("{}", 0)).state == State::kWhole);
  const std::string file = safetensors_file(100);
  for (std::size_t size = 0; size < file.size(); ++size) {
    CHECK(judge_tensors(file.substr(0, size)).state == State::kCutOff);
  }
  CHECK(judge_tensors(file.substr(0, file.size() - 1)).why == "has 99 of 100 bytes of data");
  CHECK(judge_tensors(file + "x").state == State::kUnknown);
}

TEST_CASE("safetensors headers that are not what they should be do no harm") {
  const auto header_of = [](std::uint64_t bytes) { return little_endian(bytes, 8) + "{}"; };
  CHECK(judge_tensors(header_of(~0ULL)).state == State::kUnknown);
  CHECK(judge_tensors(header_of(99'000'000)).state == State::kCutOff);
  CHECK(judge_tensors(header_of(0)).state == State::kCutOff);
  CHECK(judge_tensors(safetensors_file("zeros, perhaps", 4)).state == State::kCutOff);
  CHECK(judge_tensors(safetensors_file(R"({"w":{"data_offsets":[0,-1]}})", 4)).state ==
        State::kCutOff);
  CHECK(judge_tensors(safetensors_file(R"({"w":{"data_offsets":[0,18446744073709551615]}})", 4))
            .state == State::kCutOff);
  CHECK(judge_tensors(safetensors_file(std::string(100'000, '['), 4)).state == State::kCutOff);
}

TEST_CASE("JSON is whole when it is one object") {
  CHECK(judge_json("{\n  \"global_step\": 5\n}\n").state == State::kWhole);
  for (const char* const text : {"", "{", "[]", "{\"a\": {}", "{}{}", "\"{}\""}) {
    CHECK(judge_json(text).state == State::kCutOff);
  }
}

TEST_CASE("names of shards tell their series") {
  const auto shard = parse_shard_name("model-00002-of-00003.safetensors");
  REQUIRE(shard);
  CHECK(shard->number == 2);
  CHECK(shard->count == 3);
  CHECK(agent::shard_name(*shard, 3) == "model-00003-of-00003.safetensors");
  CHECK(parse_shard_name("pytorch_model-00001-of-00001.bin"));
  for (const char* const name :
       {"model.safetensors", "model-00004-of-00003.safetensors", "model-00000-of-00003.bin", "-of-",
        "model-0001-of-0003.bin", "model-00001-of-00003.txt", "model-00001-of-99999x.bin",
        "model-0000a-of-00003.bin", "00001-of-00003.bin", "model-00001-of-000"}) {
    CAPTURE(name);
    CHECK_FALSE(parse_shard_name(name));
  }
}

}  // namespace file_marks_test
