// What is found fit and what is not, by a node itself and beside the others.
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::supervisor::test::preflight_verdict_test {
namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;

// The verdict of the third of four nodes with this changed; the others must be fit.
NodeVerdict of_one(const std::function<void(NodeCheck&)>& change, bool full = false) {
  NodesChecked checked = all_healthy(4);
  checked.full = full;
  change(checked.nodes[2]);
  const auto verdicts = verdicts_of(checked);
  for (const std::size_t other : {0U, 1U, 3U}) CHECK(verdicts[other].level == Fitness::kFit);
  return verdicts[2];
}

struct Row {
  const char* name;
  Fitness level;
  const char* words;   // part of the first finding
  std::function<void(NodeCheck&)> change;
};

TEST_CASE("what a node has or lacks by itself") {
  const std::vector<Row> rows = {
      {"nothing", Fitness::kFit, "", [](NodeCheck&) {}},
      {"no answer", Fitness::kUnfit, "it did not answer within 12 s",
       [](NodeCheck& node) {
         node = {};
         node.node.value = 2;
         node.trouble = "it did not answer within 12 s";
       }},
      {"no door", Fitness::kUnfit, "it cannot be called by others: no such address",
       [](NodeCheck& node) { node.trouble = "it cannot be called by others: no such address"; }},
      {"no script", Fitness::kUnfit, "/job/train.py is not on this machine",
       [](NodeCheck& node) { node.facts.missing = "/job/train.py is not on this machine"; }},
      {"dead mount", Fitness::kUnfit, "cannot read the free space in /job: stale",
       [](NodeCheck& node) { node.facts.disk.error = "stale"; }},
      {"full disk", Fitness::kUnfit, "only 63 MiB are free in /job, where log files go",
       [](NodeCheck& node) { node.facts.disk.free = kDiskFreeMin - 1; }},
      {"nearly full disk", Fitness::kWarned, "only 64 MiB are free",
       [](NodeCheck& node) { node.facts.disk.free = kDiskFreeMin; }},
      {"just room enough", Fitness::kFit, "",
       [](NodeCheck& node) { node.facts.disk.free = kDiskFreeWarn; }},
      {"full shm", Fitness::kUnfit, "only 15 MiB of 64 GiB are free in /dev/shm",
       [](NodeCheck& node) { node.facts.shm.free = kShmFreeMin - 1; }},
      {"docker's shm", Fitness::kWarned,
       "only 64 MiB of 64 MiB are free in /dev/shm, which NCCL "
       "and data loaders need (docker run --shm-size makes it larger)",
       [](NodeCheck& node) { node.facts.shm.total = node.facts.shm.free = 64 * kMebi; }},
      {"unknown shm", Fitness::kWarned, "cannot read the free space in /dev/shm: gone",
       [](NodeCheck& node) { node.facts.shm.error = "gone"; }},
      {"few files", Fitness::kWarned, "processes may open 1023 files, and this job may need 1024",
       [](NodeCheck& node) { node.facts.limits.open_files = 1023; }},
      {"little locked memory", Fitness::kFit, "",
       [](NodeCheck& node) { node.facts.limits.locked_bytes = 8 * kMebi; }},
      {"little locked memory for RDMA", Fitness::kWarned, "only 8 MiB may be locked",
       [](NodeCheck& node) {
         node.facts.limits.locked_bytes = 8 * kMebi;
         node.facts.rdma_devices = 1;
       }},
      {"few processes", Fitness::kWarned, "its user may have 2047 processes",
       [](NodeCheck& node) { node.facts.limits.processes = 2047; }},
      {"clock ahead", Fitness::kWarned, "its clock is 3600 s ahead of the supervisor's",
       [](NodeCheck& node) { node.clock_ahead = std::chrono::hours(1); }},
      {"clock behind", Fitness::kWarned, "its clock is 1.5 s behind the supervisor's",
       [](NodeCheck& node) { node.clock_ahead = std::chrono::milliseconds(-1500); }},
      {"clock perhaps behind", Fitness::kFit, "",
       [](NodeCheck& node) {
         node.clock_ahead = std::chrono::milliseconds(-1500);
         node.clock_error = std::chrono::milliseconds(600);
       }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const NodeVerdict verdict = of_one(row.change);
    CHECK(verdict.level == row.level);
    CHECK(verdict.findings.empty() == (row.level == Fitness::kFit));
    if (verdict.findings.empty()) continue;
    CAPTURE(verdict.findings.front().words);
    CHECK(verdict.findings.front().words.find(row.words) != std::string::npos);
  }
}

TEST_CASE("a large job needs more files") {
  NodesChecked checked = all_healthy(2);
  for (NodeCheck& node : checked.nodes) node.facts.limits.open_files = 1024;
  CHECK(verdicts_of(checked, 384)[0].level == Fitness::kFit);
  CHECK(verdicts_of(checked, 385)[0].level == Fitness::kWarned);
}

TEST_CASE("what must be the same everywhere") {
  const std::vector<Row> rows = {
      {"torch", Fitness::kUnfit, "it has torch 2.4.0+cu124, the others have torch 2.5.1+cu124",
       [](NodeCheck& node) { node.facts.software.torch = "2.4.0+cu124"; }},
      {"build of torch", Fitness::kWarned, "it has torch 2.5.1+cu121, the others",
       [](NodeCheck& node) { node.facts.software.torch = "2.5.1+cu121"; }},
      {"no torch", Fitness::kUnfit, "it has no torch, the others have torch 2.5.1+cu124",
       [](NodeCheck& node) { node.facts.software.torch.clear(); }},
      {"python", Fitness::kUnfit, "it has Python 3.12.2, the others have 3.11.2",
       [](NodeCheck& node) { node.facts.software.python = "3.12.2"; }},
      {"patch of python", Fitness::kWarned, "it has Python 3.11.9, the others have 3.11.2",
       [](NodeCheck& node) { node.facts.software.python = "3.11.9"; }},
      {"no interpreter", Fitness::kUnfit, "the interpreter is missing: cannot start 'python'",
       [](NodeCheck& node) {
         node.facts.software = {true, "", "", "cannot start 'python'", true};
       }},
      {"slow interpreter", Fitness::kWarned, "the interpreter does not report its versions: late",
       [](NodeCheck& node) { node.facts.software = {true, "", "", "late", false}; }},
      {"a GPU less", Fitness::kUnfit, "it has 7 GPUs, the others have 8",
       [](NodeCheck& node) { node.facts.gpus.count = 7; }},
      {"a GPU more", Fitness::kWarned, "it has 9 GPUs, the others have 8",
       [](NodeCheck& node) { node.facts.gpus.count = 9; }},
      {"no GPU library", Fitness::kUnfit, "it has 0 GPUs",
       [](NodeCheck& node) { node.facts.gpus = {}; }},
      {"hung GPU library", Fitness::kUnfit, "its GPUs cannot be counted: no answer within 5 s",
       [](NodeCheck& node) { node.facts.gpus = {true, 0, "", "no answer within 5 s"}; }},
      {"driver", Fitness::kWarned, "it has GPU driver 535.1, the others have 550.54.15",
       [](NodeCheck& node) { node.facts.gpus.driver = "535.1"; }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const NodeVerdict verdict = of_one(row.change);
    CHECK(verdict.level == row.level);
    REQUIRE_FALSE(verdict.findings.empty());
    CAPTURE(verdict.findings.front().words);
    CHECK(verdict.findings.front().words.find(row.words) != std::string::npos);
  }
  const auto broken = [](NodeCheck& node) {
    node.facts.software = {true, "", "", "ImportError: libcudart", false};
  };
  CHECK(of_one(broken, true).level == Fitness::kUnfit);  // full has imported it
}

TEST_CASE("of two that differ the first is right; without any GPUs none are missing") {
  NodesChecked checked = all_healthy(2);
  checked.nodes[0].facts.software.torch = "2.4.0";
  CHECK(verdicts_of(checked)[0].level == Fitness::kFit);
  CHECK(verdicts_of(checked)[1].level == Fitness::kUnfit);
  checked = all_healthy(2);
  for (NodeCheck& node : checked.nodes) node.facts.gpus = {};
  checked.nodes[1].facts.gpus = {true, 0, "", "nvmlInit failed with 9"};
  CHECK(verdicts_of(checked)[0].level == Fitness::kFit);
  CHECK(verdicts_of(checked)[1].level == Fitness::kWarned);
}

TEST_CASE("the worst finding comes first and makes the verdict") {
  const NodeVerdict verdict = of_one([](NodeCheck& node) {
    node.clock_ahead = std::chrono::hours(1);
    node.facts.software.torch = "1.0";
  });
  CHECK(verdict.level == Fitness::kUnfit);
  REQUIRE(verdict.findings.size() == 2);
  CHECK(verdict.findings[0].words.starts_with("it has torch 1.0"));
  CHECK(verdict.findings[1].words.starts_with("its clock"));
}

TEST_CASE("hostile answers are shown short and printable, and break nothing") {
  const NodeVerdict verdict = of_one([](NodeCheck& node) {
    node.clock_ahead = base::Nanos(std::numeric_limits<std::int64_t>::min());
    node.clock_error = base::Nanos(std::numeric_limits<std::int64_t>::max());
    node.facts.missing = std::string(1 << 20, '\x1b');
    node.facts.software.torch = "\n\x1b[31m" + std::string(100'000, 'x');
    node.facts.disk = {"\xff", 0, base::kUnlimited, ""};
    node.facts.shm = {"", 1, base::kUnlimited, ""};
    node.facts.gpus = {true, 0xFFFFFFFF, std::string(1 << 16, '\0'), ""};
    node.unreached = {timeout_to(2), timeout_to(77), timeout_to(0xFFFFFFFF)};
    node.half_heard = {{99}, {2}};
  });
  CHECK(verdict.level == Fitness::kUnfit);
  for (const Finding& finding : verdict.findings) {
    CHECK(finding.words.size() < 6 * kFindingBytesMax);
    for (const char c : finding.words) CHECK((c >= ' ' && c != '\x7f'));
  }
}

TEST_CASE("names in words") {
  CHECK(names_in_words({"a"}) == "a");
  CHECK(names_in_words({"a", "b"}) == "a and b");
  CHECK(names_in_words({"a", "b", "c"}) == "a, b and c");
  CHECK(names_in_words({"a", "b", "c", "d", "e"}) == "a, b, c and 2 more");
}

}  // namespace
}  // namespace robustrun::supervisor::test::preflight_verdict_test
