// configs/faults.toml: every row explains a failure of its own kind, and no other.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "cli/tables/fault_file.h"
#include "supervisor/core/fault/fault_class.h"
#include "tests/cli/tables/fault_examples.h"
#include "tests/paths.h"

namespace robustrun::cli::faults_shipped_test {
namespace {

using supervisor::Classification;
using supervisor::FaultPhase;
using supervisor::FaultRow;
using testing::FaultExample;
using testing::raised;

const std::vector<FaultRow>& shipped() {
  static const std::vector<FaultRow> rows =
      parse_faults(built_in_faults(), "configs/faults.toml").value();
  return rows;
}

Classification looks(const supervisor::WorkerExited& exited) {
  return supervisor::classify(exited, FaultPhase::kProgressing, shipped());
}

std::string name_of(std::vector<std::string> lines, int code = 1) {
  return looks(testing::ended_with(std::move(lines), code)).name;
}

std::string unexplained() { return "exit after progress"; }

TEST_CASE("the file in configs is the one within the program") {
  std::ifstream file(in_source("configs/faults.toml"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  CHECK(text == built_in_faults());
}

TEST_CASE("every row explains its example, and quotes it") {
  for (const FaultExample& example : testing::fault_examples()) {
    CAPTURE(example.name);
    const Classification what = looks(example.exited);
    CHECK(what.name == example.name);
    CHECK(what.evidence.find("rank 3") != std::string::npos);
    if (example.exited.oom == supervisor::OomKiller::kNo) CHECK(what.evidence.starts_with("\""));
  }
}

TEST_CASE("every row has an example, and every example a row") {
  std::set<std::string> rows;
  std::set<std::string> examples;
  for (const FaultRow& row : shipped()) {
    if (row.found.empty()) rows.insert(row.name);
  }
  for (const FaultExample& example : testing::fault_examples()) examples.insert(example.name);
  CHECK(rows == examples);
}

TEST_CASE("a crash at exit is due to the interpreter's end, whatever was printed before") {
  supervisor::WorkerExited exited = testing::ended_with({"terminate called"}, 134);
  exited.script_end = base::ScriptEnd::kReturned;
  const Classification what = looks(exited);
  CHECK(what.name == "crash at interpreter exit");
  CHECK(what.action == supervisor::FirstAction::kTolerate);
  CHECK(what.evidence == "exit code 134 after its script had returned (rank 3)");

  exited.kind = base::ExitStatus::Kind::kSignaled;
  exited.script_end = base::ScriptEnd::kFinished;
  exited.code = SIGABRT;
  CHECK(supervisor::class_in_words(looks(exited)) ==
        "crash at interpreter exit (user code, high confidence)");
  exited.code = SIGKILL;  // from another process: not the script's fault
  CHECK(looks(exited).name == "ended by a signal while the interpreter ended");
  CHECK(looks(exited).layer == supervisor::Layer::kInfrastructure);
}

TEST_CASE("all symptoms of ByteRobust's Table 1 are there") {
  for (const char* symptom :
       {"CUDA error", "CPU overload", "CPU OOM", "Insufficient disk space", "Infiniband error",
        "Filesystem mount", "HDFS error", "Container error", "OS kernel panic", "GPU memory error",
        "External service error", "GPU unavailable", "Disk fault", "Job hang", "MFU decline",
        "NaN value"}) {
    CAPTURE(symptom);
    CHECK(std::ranges::find(shipped(), symptom, &FaultRow::symptom) != shipped().end());
  }
}

TEST_CASE("no Xid is claimed by two rows") {
  std::set<std::uint32_t> seen;
  for (const FaultRow& row : shipped()) {
    for (const std::uint32_t code : row.xids) CHECK_MESSAGE(seen.insert(code).second, code);
  }
  CHECK(seen.size() > 90);
  CHECK(name_of(testing::xid("790, pid=1, no such code")) == unexplained());
  CHECK(name_of({"NVRM: Xid 79 in prose, GPU unknown"}) == unexplained());
}

TEST_CASE("a mistake in the program is recognised, whatever its message says") {
  CHECK(name_of(raised("ValueError: bad connection string: Connection refused by policy")) ==
        "invalid data or settings");
  CHECK(name_of(raised("KeyError: 'CUDA out of memory'")) == "invalid data or settings");
  CHECK(name_of(raised("TypeError: No space left on device")) == "mistake in the program");
  CHECK(name_of(raised("ValueError: uncorrectable ECC error encountered",
                       {"OSError: [Errno 28] No space left on device"})) ==
        "invalid data or settings");
}

TEST_CASE("source lines of a traceback are no messages") {
  CHECK(name_of({"Traceback (most recent call last):", "  File \"t.py\", line 1, in <module>",
                 "    raise Stop('No space left on device, CUDA out of memory')",
                 "__main__.Stop: enough"}) == unexplained());
}

TEST_CASE(
    "an exception that was caught and printed does not outweigh the one that ended the script") {
  auto lines = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.");
  lines.push_back("");
  lines.push_back("During handling of the above exception, another exception occurred:");
  lines.push_back("");
  for (std::string& line : raised("AttributeError: 'NoneType' object has no attribute 'loss'")) {
    lines.push_back(std::move(line));
  }
  CHECK(name_of(lines) == "mistake in the program");
}

TEST_CASE("a sure sign of a fault outweighs the error that it caused") {
  auto lines = testing::xid("79, GPU has fallen off the bus.");
  for (std::string& line : raised("RuntimeError: CUDA error: unspecified launch failure")) {
    lines.push_back(std::move(line));
  }
  CHECK(name_of(lines) == "fallen off the bus (Xid 79)");
}

TEST_CASE("one rank's lines are read after torch's prefix") {
  std::vector<std::string> lines;
  for (const std::string& line : raised("OSError: [Errno 28] No space left on device")) {
    lines.push_back("[rank3]: " + line);
  }
  const Classification what = looks(testing::ended_with(lines));
  CHECK(what.name == "no space left");
  CHECK(what.evidence == "\"OSError: [Errno 28] No space left on device\" (rank 3's stderr)");
}

// Texts of c10d/nccl2: ProcessGroupNCCL.cpp, ProcessGroupNCCLUtils.cpp, WorkNCCL.cpp. The
// beginnings of the lines are those of its Logging.hpp.
TEST_CASE("the texts of the nccl2 process group count as those of the older one") {
  const std::string prefix = "[rank1]:[E1127 02:07:08.408271257 x.cpp:607] [TC][rank=1][name=0] ";
  CHECK(name_of({prefix + "Aborting process on rank 1 due to timeout - timeout watchdog detected "
                          "operation timeout"}) == "a collective timed out");
  CHECK(name_of({prefix + "Aborting process on rank 1 due to timeout - collective operation timed "
                          "out"}) == "a collective timed out");
  CHECK(name_of(raised("torch.distributed.DistBackendError: NCCL operation timed out")) ==
        "a collective timed out");
  CHECK(name_of({prefix + "Aborting process on rank 1 due to error - nccl hit async error: remote "
                          "process exited or there was a network error"}) == "lost its peer");
  CHECK(name_of(raised("RuntimeError: NCCL communicator was aborted after a previous error")) ==
        "lost its peer");
  CHECK(name_of({prefix + "nccl hit async error on rank 1: unhandled system error (run with "
                          "NCCL_DEBUG=INFO for details)"}) == "NCCL failed in a system call");
}

TEST_CASE("harmless neighbours are left unexplained") {
  CHECK(name_of({"loaded 12 shards, 3 connections, no errors"}) == unexplained());
  CHECK(name_of({"eval: nanoseconds per step 12", "killed two birds with one stone"}) ==
        unexplained());
  CHECK(name_of({"NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE"}) == unexplained());
  CHECK(name_of({"train.py: error: unrecognized arguments: --x"}, 1) == unexplained());
}

}  // namespace
}  // namespace robustrun::cli::faults_shipped_test
