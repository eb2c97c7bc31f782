#include "cli/data/spec_file.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace data_spec_file_test {

using namespace robustrun;
using namespace robustrun::cli;

constexpr const char* kWhole = R"(
seed = 7
[[source]]
name = "web"
format = "megatron"
paths = ["web/*.idx", "more.idx"]
[[source]]
name = "code"
format = "jsonl"
paths = "code.jsonl"
bytes_per_token = 3
[mixture]
web = [[0, 0.8], [20000, 0.5]]
code = 1
[batch]
tokens = 98304
context = 2048
micro = 4
pack = "next-fit"
leftover = "pad"
long = "truncate"
[shuffle]
block = 64
window = 2
[balance]
cost = { a = 1.0, b = 2.4e-5 }
sync = "micro"
)";

TEST_CASE("a whole specification is read") {
  const auto spec = parse_data_spec(kWhole, "data.toml");
  REQUIRE(spec);
  CHECK(spec->seed == 7);
  REQUIRE(spec->sources.size() == 2);
  CHECK(spec->sources[0].paths == std::vector<std::string>{"web/*.idx", "more.idx"});
  CHECK(spec->sources[0].weight.size() == 2);
  CHECK(spec->sources[0].weight[1].step == 20000);
  CHECK(spec->sources[0].weight[1].weight == 500'000);
  CHECK(spec->sources[1].format == loader::Format::kJsonLines);
  CHECK(spec->sources[1].bytes_per_token == 3);
  CHECK(spec->batch.bins == 48);
  CHECK(spec->batch.micro == 4);
  CHECK(spec->batch.pack == loader::Pack::kNextFit);
  CHECK(spec->batch.leftover == loader::Leftover::kPad);
  CHECK(spec->batch.longer == loader::Long::kTruncate);
  CHECK(spec->shuffle.block == 64);
  CHECK(spec->balance.linear == 1'000'000);
  CHECK(spec->balance.square == 24'000);
  CHECK(spec->balance.sync == loader::Sync::kMicro);
}

TEST_CASE("sources without [mixture] have the same weight") {
  const auto spec = parse_data_spec(
      "source = [{name = \"a\", paths = \"a\"}, {name = \"b\", paths = \"b\"}]\n"
      "[batch]\ntokens = 8\ncontext = 4\n",
      "data.toml");
  REQUIRE(spec);
  CHECK(weight_at(spec->sources[0], 9) == weight_at(spec->sources[1], 9));
}

TEST_CASE("text may be tokenized while the training runs") {
  const std::string text =
      "prepare = \"training\"\nsource = [{name = \"a\", format = \"jsonl\", paths = \"a\", "
      "max_skips = 3}]\n[batch]\ntokens = 8\ncontext = 4\n[resources]\ncpus = 2\n";
  const auto spec = parse_data_spec(text, "data.toml");
  REQUIRE(spec);
  CHECK(spec->while_training);
}

std::string error_of(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const auto spec = parse_data_spec(text, "data.toml");
  REQUIRE_FALSE(spec);
  return spec.error().what;
}

TEST_CASE("each mistake names its place and what is wanted") {
  CHECK(error_of(kWhole, "seed = 7", "sed = 7").find("data.toml:2:1") == 0);
  CHECK(error_of(kWhole, "seed = 7", "sed = 7").find("unknown key 'sed'") != std::string::npos);
  CHECK(error_of(kWhole, "code = 1", "cod = 1").find("unknown key 'cod'") != std::string::npos);
  CHECK(error_of(kWhole, "code = 1", "").find("source code is missing in [mixture]") !=
        std::string::npos);
  CHECK(error_of(kWhole, "\"jsonl\"", "\"csv\"").find("one of megatron, jsonl, parquet") !=
        std::string::npos);
  CHECK(error_of(kWhole, "tokens = 98304", "tokens = 98305")
            .find("batch.tokens = 98305 must be a multiple of batch.context = 2048") !=
        std::string::npos);
  CHECK(error_of(kWhole, "context = 2048", "").find("[batch] needs tokens and context") !=
        std::string::npos);
  CHECK(error_of(kWhole, "b = 2.4e-5", "b = -1").find("a number from 0 to 1") != std::string::npos);
  CHECK(error_of(kWhole, "b = 2.4e-5", "b = nan").find("a number from 0 to 1") !=
        std::string::npos);
  CHECK(error_of(kWhole, "[[0, 0.8], [20000, 0.5]]", "[[0, 0.8], [0, 0.5]]")
            .find("must ascend: 0 after 0") != std::string::npos);
}

}  // namespace data_spec_file_test
