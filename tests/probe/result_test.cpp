// Results of the probe: written and read back, among any other output of a program.
#include "probe/result.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "probe/limits.h"
#include "probe/tests.h"
#include "tests/paths.h"

namespace robustrun::probe::result_test {
namespace {

using base::GpuFacts;

GpuFacts some() {
  GpuFacts facts;
  facts.models = {"NVIDIA H200", "NVIDIA H200"};
  facts.figures = {{0, "bf16 GEMM", "TFLOP/s", 780.25}, {1, "bf16 GEMM", "TFLOP/s", 512}};
  facts.sums = {{1, "bf16 GEMM by cuBLAS 130100", ~std::uint64_t{0}}};
  facts.faults = {"GPU 1: \"quoted\"\nand more"};
  return facts;
}

// Reads a result with this content.
GpuFacts read(const std::string& inside) {
  const auto found = read_result("gemm", "{\"probe\":1,\"test\":\"gemm\"," + inside + "}\n");
  REQUIRE(found);
  return *found;
}

bool refused(const std::string& output) { return !read_result("gemm", output).has_value(); }

TEST_CASE("a result is read back, whatever libraries print around it") {
  const std::string line = write_result("gemm", some());
  CHECK(line.find('\n') == line.size() - 1);
  for (const std::string& output :
       {line, "NCCL version 2.28\n" + line + "INFO bye\n", line.substr(0, line.size() - 1),
        write_result("gemm", {}) + line, line + "found " + write_result("copy", {}),
        line + "x" + line.substr(0, 9) + line.substr(0, 9)}) {
    const auto found = read_result("gemm", output);
    REQUIRE(found);
    CHECK_FALSE(found->asked);
    CHECK(found->error.empty());
    CHECK(found->models == some().models);
    REQUIRE(found->figures.size() == 2);
    CHECK(found->figures[0].what == "bf16 GEMM");
    CHECK(found->figures[0].unit == "TFLOP/s");
    CHECK(found->figures[0].value == 780.25);
    CHECK(found->figures[1].gpu == 1);
    REQUIRE(found->sums.size() == 1);
    CHECK(found->sums[0].sum == ~std::uint64_t{0});
    CHECK(found->sums[0].what == "bf16 GEMM by cuBLAS 130100");
    CHECK(found->faults == some().faults);
  }
}

TEST_CASE("an error is read, and the absence of GPUs is an error") {
  GpuFacts facts;
  facts.error = "cannot count the GPUs: no driver";
  CHECK(read_result("copy", write_result("copy", facts))->error == facts.error);
  CHECK(read_result("copy", write_result("copy", {}))->error == "it tested no GPU");
}

TEST_CASE("output without a result of that test is refused") {
  const std::string line = write_result("gemm", some());
  CHECK(refused(""));
  CHECK(refused("step: gemm\n"));
  CHECK(refused(line.substr(0, line.size() - 3)));
  CHECK(refused("x" + line));
  CHECK(refused(write_result("copy", some())));
  CHECK(refused("{\"probe\":2,\"test\":\"gemm\"}\n"));
  CHECK(refused("{\"probe\":\"1\",\"test\":\"gemm\"}\n"));
  CHECK(refused("{\"probe\":1}\n"));
  CHECK(refused("{\"probe\":1,\"test\":1}\n"));
  CHECK(refused("{\"probe\":[1]}\n"));
  CHECK(refused("{\"probe\":1,\"test\":\"gemm\",\"x\":1e999}\n"));
  CHECK(refused("{\"probe\":" + std::string(60'000, '[') + "\n"));
  CHECK(refused("{\"probe\":1,\"test\":\"gemm\",\"x\":\"" + std::string(kResultBytesMax, 'x') +
                "\"}\n"));
}

TEST_CASE("malformed figures and sums, and those of missing GPUs, are left out") {
  const std::string gpus = R"("gpus":["A","B"],)";
  for (const char* const figure :
       {"7", "{}", R"({"gpu":2,"what":"w","value":1})", R"({"gpu":-1,"what":"w","value":1})",
        R"({"gpu":0.5,"what":"w","value":1})", R"({"gpu":"0","what":"w","value":1})",
        R"({"gpu":0,"value":1})", R"({"gpu":0,"what":"w"})", R"({"gpu":0,"what":"w","value":"1"})",
        R"({"gpu":0,"what":"w","value":0})", R"({"gpu":0,"what":"w","value":-1})",
        R"({"gpu":4294967296,"what":"w","value":1})", R"({"gpu":0,"what":3,"value":1})", "[[]]",
        "null"}) {
    CAPTURE(figure);
    CHECK(read(fmt::format("{}\"figures\":[{}]", gpus, figure)).figures.empty());
  }
  CHECK(read(gpus + R"("figures":[7,{"gpu":1,"what":"w","value":2}])").figures.size() == 1);
  for (const char* const sum :
       {"{}", R"({"gpu":2,"sum":"1"})", R"({"gpu":0})", R"({"gpu":0,"sum":1})",
        R"({"gpu":0,"sum":""})", R"({"gpu":0,"sum":"xyz"})", R"({"gpu":0,"sum":"-1"})",
        R"({"gpu":0,"sum":"1 "})", R"({"gpu":0,"sum":"11112222333344445"})"}) {
    CAPTURE(sum);
    CHECK(read(fmt::format("{}\"sums\":[{}]", gpus, sum)).sums.empty());
  }
  CHECK(read(gpus + R"("sums":[{"gpu":1,"sum":"ff"}])").sums.at(0).sum == 255);
  for (const char* const list : {"7", "{}", "\"x\"", "null"}) {
    CAPTURE(list);
    const GpuFacts facts = read(
        fmt::format(R"("gpus":{},"figures":{},"sums":{},"faults":{})", list, list, list, list));
    CHECK((facts.models.empty() && facts.figures.empty() && facts.sums.empty()));
    CHECK(facts.faults.empty());
  }
}

TEST_CASE("results beyond the limits are cut") {
  const auto many = [](std::size_t count, const std::string& item) {
    std::string list = item;
    for (std::size_t i = 1; i < count; ++i) list += "," + item;
    return list;
  };
  CHECK(read("\"gpus\":[" + many(kGpusMax + 1, "\"A\"") + "]").models.size() == kGpusMax);
  CHECK(read("\"gpus\":[7]").models.at(0) == "?");
  CHECK(read(R"("gpus":["A"],"figures":[)" +
             many(kFiguresMax + 1, R"({"gpu":0,"what":"w","value":1})") + "]")
            .figures.size() == kFiguresMax);
  CHECK(read(R"("gpus":["A"],"sums":[)" + many(kSumsMax + 1, R"({"gpu":0,"sum":"1"})") + "]")
            .sums.size() == kSumsMax);
  CHECK(read("\"faults\":[" + many(kFaultsMax + 1, "\"f\"") + "]").faults.size() == kFaultsMax);
  const std::string long_text = '"' + std::string(kTextBytesMax + 1, 'x') + '"';
  CHECK(read("\"error\":" + long_text).error.size() == kTextBytesMax);
  CHECK(read("\"faults\":[" + long_text + "]").faults.at(0).size() == kTextBytesMax);
  CHECK(read("\"gpus\":[" + long_text + "]").models.at(0).size() == kTextBytesMax);
}

// scripts/record-probe makes these.
TEST_CASE("recorded results of real machines are read completely") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("tests/fixtures/probe"))) {
    if (entry.path().extension() != ".jsonl") continue;
    CAPTURE(entry.path().string());
    ++files;
    std::ifstream lines(entry.path());
    std::string line;
    std::size_t tests = 0;
    for (; std::getline(lines, line); ++tests) {
      REQUIRE(tests < kTests.size());
      const auto found = read_result(kTests[tests], line);
      REQUIRE(found);
      CHECK((found->models.empty() == !found->error.empty()));
      // Nothing was left out.
      CHECK(write_result(kTests[tests], *found) == line + "\n");
    }
    CHECK(tests == kTests.size());
  }
  CHECK(files > 0);
}

TEST_CASE("the result of a full machine fits the limit") {
  GpuFacts facts;
  for (std::uint32_t gpu = 0; gpu < 16; ++gpu) {
    facts.models.emplace_back(64, 'm');
    for (int figure = 0; figure < 5; ++figure) {
      facts.figures.push_back({gpu, std::string(40, 'w'), "TFLOP/s", 123.456789012345});
    }
    facts.faults.emplace_back(kTextBytesMax, 'f');
  }
  CHECK(read_result("gemm", write_result("gemm", facts)));
}

}  // namespace
}  // namespace robustrun::probe::result_test
