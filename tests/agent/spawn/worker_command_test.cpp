#include "agent/spawn/worker_command.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <map>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/io/tool.h"
#include "tests/scratch_folder.h"

namespace worker_command_test {

using namespace robustrun;
using agent::substitute_local_rank;
using wire::LaunchMode;
using Strings = std::vector<std::string>;

namespace {

struct Fixture {
  wire::WorkerTemplate workers;
  wire::StartWorkers start;
  wire::WorkerSlot slot;
  agent::WorkerFiles files{"/logs/error.json", "/run/3.record", "/run/3.sock", "",
                           "/run/3.fr",        "/run/3.stack"};
  unsigned cpus = 16;

  Fixture() {
    workers.interpreter = "/usr/bin/python3";
    workers.program = "train.py";
    workers.arguments = {"--rank", "${local_rank}", "$$x", ""};
    workers.run_id = "job-1";
    workers.agent_store = true;
    workers.max_restarts = 3;
    workers.signals_to_handle = "SIGTERM,SIGINT";
    workers.omp = "auto";
    start.attempt = base::Attempt{2};
    start.ordered_by = 3;
    start.slots.resize(4);
    start.group_rank = 1;
    start.group_world_size = 2;
    start.world_size = 8;
    start.master_addr = "10.0.0.1";
    start.master_port = 23'456;
    slot.rank = base::Rank{5};
    slot.local_rank = base::LocalRank{1};
    slot.role_rank = 5;
  }

  [[nodiscard]] agent::WorkerCommand make() const {
    auto made = agent::make_worker_command(workers, start, slot, files, cpus);
    REQUIRE(made);
    return *std::move(made);
  }
  // The worker's environment as a map; a duplicate name fails.
  [[nodiscard]] std::map<std::string, std::string> environment() const {
    std::map<std::string, std::string> out;
    for (const std::string& entry : make().environment) {
      const std::size_t equals = entry.find('=');
      CHECK(out.emplace(entry.substr(0, equals), entry.substr(equals + 1)).second);
    }
    return out;
  }
  [[nodiscard]] std::string variable(const std::string& name) const {
    const auto all = environment();
    const auto found = all.find(name);
    return found == all.end() ? "(unset)" : found->second;
  }
};

constexpr const char* kSafeSubstitute = R"(
import os, string, sys
for line in open(sys.argv[1]):
    text = os.fsdecode(bytes.fromhex(line.strip()))
    out = string.Template(text).safe_substitute(local_rank="17")
    print(os.fsencode(out).hex())
)";

std::string hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

Strings template_cases(base::Rng& rng) {
  Strings cases = {"",
                   "$",
                   "$$",
                   "$$$",
                   "a$",
                   "${",
                   "${}",
                   "${local_rank",
                   "$local_rank",
                   "${local_rank}",
                   "$$local_rank",
                   "$${local_rank}",
                   "$$$local_rank",
                   "$local_rank_x",
                   "$local_rankx",
                   "$local_rank-x",
                   "${local_rank_x}",
                   "${local_rank}}",
                   "${ local_rank}",
                   "${local_rank }",
                   "$LOCAL_RANK",
                   "${Local_Rank}",
                   "$1local_rank",
                   "$_local_rank",
                   "${$local_rank}",
                   "$local_rank$local_rank",
                   "$local_rank\xc3\xa9",
                   "$\xc3\xa9",
                   "\xff$local_rank\xfe",
                   "${local_rank\xc3\xa9}",
                   "$\n{local_rank}",
                   "$local_ran\xc4\xb1",
                   "$loca\xe2\x84\xaa"};
  const Strings pieces = {"$",  "{", "}",    "$$", "local_rank", "${local_rank}", "$local_rank",
                          "_x", "é", "\xff", " ",  "7",          "local",         "K"};
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(7); n > 0; --n) text += pieces[rng.below(pieces.size())];
    cases.push_back(text);
  }
  return cases;
}

}  // namespace

TEST_CASE("NCCL's plugin is ours unless the user has chosen one") {
  Fixture f;
  CHECK(!f.environment().contains("NCCL_PROFILER_PLUGIN"));
  f.files.tracer = "/opt/librobustrun_tracer.so";
  CHECK(f.environment().at("NCCL_PROFILER_PLUGIN") == "/opt/librobustrun_tracer.so");
  for (const char* chosen : {"none", "/their/plugin.so"}) {
    f.workers.environment = {std::string("NCCL_PROFILER_PLUGIN=") + chosen};
    CHECK(f.environment().at("NCCL_PROFILER_PLUGIN") == chosen);
  }
  for (const char* free : {"", "/old/share/robustrun/librobustrun_tracer.so"}) {
    f.workers.environment = {std::string("NCCL_PROFILER_PLUGIN=") + free};
    CHECK(f.environment().at("NCCL_PROFILER_PLUGIN") == f.files.tracer);
  }
}

TEST_CASE("a plugin that the user has chosen is called by ours, if it can be") {
  using Slot = agent::ProfilerShare::Slot;
  Fixture f;
  f.files.tracer = "/opt/librobustrun_tracer.so";
  f.workers.environment = {"NCCL_PROFILER_PLUGIN=inspector"};
  f.files.profiler = {Slot::kShared, "/their/plugin.so", "1 2 4", ""};
  CHECK(f.environment().at("NCCL_PROFILER_PLUGIN") == f.files.tracer);
  CHECK(f.environment().at("ROBUSTRUN_NCCL_BEHIND") == "/their/plugin.so");
  CHECK(f.environment().at("ROBUSTRUN_NCCL_VERSIONS") == "1 2 4");
  f.files.profiler = {Slot::kAlone, "", "", "it crashes"};
  f.workers.environment.push_back("ROBUSTRUN_NCCL_BEHIND=/outer.so");
  f.workers.environment.push_back("ROBUSTRUN_NCCL_VERSIONS=1 2");
  CHECK(f.environment().at("NCCL_PROFILER_PLUGIN") == f.files.tracer);
  CHECK(!f.environment().contains("ROBUSTRUN_NCCL_BEHIND"));
  CHECK(!f.environment().contains("ROBUSTRUN_NCCL_VERSIONS"));
  f.files.profiler = {Slot::kLeft, "", "", "it is newer"};
  CHECK(f.environment().at("NCCL_PROFILER_PLUGIN") == "inspector");
  CHECK(f.environment().at("ROBUSTRUN_NCCL_BEHIND") == "/outer.so");
  f.files.profiler = {Slot::kShared, "/their/plugin.so", "1 2 4", ""};
  f.files.tracer = "";
  CHECK(f.environment().at("NCCL_PROFILER_PLUGIN") == "inspector");
}

TEST_CASE("NCCL's RAS listens where we say unless the user has chosen an address") {
  Fixture f;
  CHECK(!f.environment().contains("NCCL_RAS_ADDR"));
  f.files.ras_address = "127.0.0.1:4321";
  CHECK(f.environment().at("NCCL_RAS_ADDR") == "127.0.0.1:4321");
  f.workers.environment = {"NCCL_RAS_ADDR=localhost:28028"};
  CHECK(f.environment().at("NCCL_RAS_ADDR") == "localhost:28028");
}

TEST_CASE("substitution of the local rank is Python's safe_substitute, byte for byte") {
  const std::uint64_t seed = base::system_seed();
  INFO("seed ", seed);
  base::Rng rng(seed);
  const Strings cases = template_cases(rng);
  const test::ScratchFolder folder;
  std::string lines;
  for (const std::string& text : cases) lines += hex(text) + "\n";
  const char* const path = ::getenv("PATH");
  const auto python = base::find_executable("python3", path == nullptr ? "" : path);
  REQUIRE(python);
  const auto run =
      base::run_tool({*python, "-X", "utf8", "-c", kSafeSubstitute, folder.write("cases", lines)},
                     std::chrono::seconds(20));
  REQUIRE(run);
  REQUIRE_MESSAGE(run->status.success(), run->err);
  const auto answers = base::split(run->out, '\n');
  REQUIRE(answers.size() == cases.size() + 1);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i]);
    CHECK(hex(substitute_local_rank(cases[i], 17)) == answers[i]);
  }
}

TEST_CASE("argv without injection is torchrun's, for every way to launch") {
  Fixture f;
  CHECK(f.make().argv == Strings{"/usr/bin/python3", "-u", "train.py", "--rank", "1", "$x", ""});
  f.workers.mode = LaunchMode::kModule;
  CHECK(f.make().argv ==
        Strings{"/usr/bin/python3", "-u", "-m", "train.py", "--rank", "1", "$x", ""});
  f.workers.mode = LaunchMode::kExecutable;
  f.workers.program = "./a$$b";  // an executable's name is not a template
  CHECK(f.make().argv == Strings{"./a$$b", "--rank", "1", "$x", ""});
}

TEST_CASE("argv with injection goes through the boot module by absolute path") {
  Fixture f;
  f.workers.python_path = "/opt/robustrun/python";
  const auto argv = [&f](LaunchMode mode) {
    f.workers.mode = mode;
    return f.make().argv;
  };
  CHECK(argv(LaunchMode::kScript) == Strings{"/usr/bin/python3", "-u",
                                             "/opt/robustrun/python/robustrun/boot.py", "script",
                                             "train.py", "--rank", "1", "$x", ""});
  CHECK(argv(LaunchMode::kModule)[3] == "module");
  CHECK(argv(LaunchMode::kRunPath)[3] == "path");
  CHECK(argv(LaunchMode::kExecutable) == Strings{"train.py", "--rank", "1", "$x", ""});
}

TEST_CASE("--run-path without injection gives the script torchrun's sys.argv and __main__") {
  Fixture f;
  f.workers.mode = LaunchMode::kRunPath;
  const test::ScratchFolder folder;
  f.workers.program = folder.write("show.py",
                                   "import sys\nprint(__name__, sys.argv[1:])\n"
                                   "assert sys.argv[0] == __file__\n");
  f.workers.arguments = {"a", "-c", "${local_rank}"};
  const char* const path = ::getenv("PATH");
  f.workers.interpreter = *base::find_executable("python3", path == nullptr ? "" : path);
  const auto run = base::run_tool(f.make().argv, std::chrono::seconds(20));
  REQUIRE(run);
  CHECK_MESSAGE(run->status.success(), run->err);
  CHECK(run->out == "__main__ ['a', '-c', '1']\n");
}

TEST_CASE("every variable of torchrun is there with its value") {
  Fixture f;
  const std::map<std::string, std::string> expected = {
      {"LOCAL_RANK", "1"},
      {"RANK", "5"},
      {"GROUP_RANK", "1"},
      {"NODE_RANK", "1"},
      {"ROLE_RANK", "5"},
      {"ROLE_NAME", "default"},
      {"LOCAL_WORLD_SIZE", "4"},
      {"WORLD_SIZE", "8"},
      {"GROUP_WORLD_SIZE", "2"},
      {"ROLE_WORLD_SIZE", "8"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "23456"},
      {"TORCHELASTIC_RESTART_COUNT", "2"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_RUN_ID", "job-1"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_ERROR_FILE", "/logs/error.json"},
      {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"OMP_NUM_THREADS", "4"},
      {"ROBUSTRUN_RUN_ID", "job-1"},
      {"ROBUSTRUN_ATTEMPT", "2"},
      {"ROBUSTRUN_INCARNATION", "3"},
      {"ROBUSTRUN_RECORD", "/run/3.record"},
      {"ROBUSTRUN_SOCKET", "/run/3.sock"},
      {"ROBUSTRUN_FLIGHT_SOCKET", "/run/3.fr"}};
  CHECK(f.environment() == expected);
}

TEST_CASE("in compat the restart count is torchrun's counted restarts, natively the attempts") {
  Fixture f;
  f.start.restarts = 1;
  CHECK(f.environment()["TORCHELASTIC_RESTART_COUNT"] == "2");
  f.workers.compat = true;
  CHECK(f.environment()["TORCHELASTIC_RESTART_COUNT"] == "1");
  CHECK(f.environment()["ROBUSTRUN_ATTEMPT"] == "2");
  f.start.restarts.reset();  // from a supervisor that does not send it
  CHECK(f.environment()["TORCHELASTIC_RESTART_COUNT"] == "2");
}

TEST_CASE("the caller's environment passes, ours replaces it, malformed entries stay") {
  Fixture f;
  f.workers.environment = {"PATH=/bin",
                           "RANK=99",
                           "odd",
                           "RANK=98",
                           "RANKS=7",
                           "caf\xe9=\xff",
                           "EMPTY=",
                           "MASTER_ADDR=elsewhere",
                           "TORCH_NCCL_ASYNC_ERROR_HANDLING=3",
                           "NCCL_DEBUG=INFO"};
  const Strings entries = f.make().environment;
  const auto has = [&entries](const char* entry) {
    return std::ranges::count(entries, entry) == 1;
  };
  for (const char* const entry :
       {"PATH=/bin", "odd", "RANKS=7", "caf\xe9=\xff", "EMPTY=", "RANK=5", "MASTER_ADDR=10.0.0.1",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=3", "NCCL_DEBUG=INFO"}) {
    CAPTURE(entry);
    CHECK(has(entry));
  }
  CHECK(!has("RANK=99"));
  CHECK(!has("RANK=98"));
}

TEST_CASE(
    "without files the error file is empty and a record of an outer robustrun is not passed on") {
  Fixture f;
  f.files = {};
  f.workers.environment = {"ROBUSTRUN_RECORD=/outer",        "ROBUSTRUN_SOCKET=/outer",
                           "ROBUSTRUN_STACK_SIGNAL=40",      "TORCHELASTIC_ERROR_FILE=/outer",
                           "ROBUSTRUN_FLIGHT_SOCKET=/outer", "ROBUSTRUN_TRACE_DISPATCHER=1"};
  CHECK(f.variable("TORCHELASTIC_ERROR_FILE") == "");
  CHECK(f.variable("ROBUSTRUN_RECORD") == "(unset)");
  CHECK(f.variable("ROBUSTRUN_SOCKET") == "(unset)");
  CHECK(f.variable("ROBUSTRUN_STACK_SIGNAL") == "(unset)");
  CHECK(f.variable("ROBUSTRUN_FLIGHT_SOCKET") == "(unset)");
  CHECK(f.variable("ROBUSTRUN_TRACE_DISPATCHER") == "(unset)");
  f.workers.stack_signal = 42;
  f.workers.trace_dispatcher = true;
  CHECK(f.variable("ROBUSTRUN_STACK_SIGNAL") == "42");
  CHECK(f.variable("ROBUSTRUN_TRACE_DISPATCHER") == "1");
}

TEST_CASE("a worker's GPU is the one with its local rank among the visible ones") {
  Fixture f;
  const auto devices = [&f] { return agent::devices_of(f.workers, f.slot.local_rank); };
  CHECK(devices() == Strings{"1"});
  f.workers.environment = {"CUDA_VISIBLE_DEVICES=3,GPU-5f,7"};
  CHECK(devices() == Strings{"GPU-5f"});
  f.workers.environment = {"CUDA_VISIBLE_DEVICES=3"};
  CHECK(devices().empty());
}

TEST_CASE(
    "OMP_NUM_THREADS: each mode's rule, and the user's value wins unless a number is asked for") {
  struct Row {
    const char* omp;
    unsigned workers;
    unsigned cpus;
    bool user_set;
    const char* value;
    bool notice;
  };
  const Row rows[] = {{"auto", 4, 16, false, "4", true},
                      {"auto", 4, 3, false, "1", true},
                      {"auto", 1, 16, false, "16", true},
                      {"auto", 4, 16, true, "user", false},
                      {"torchrun", 4, 16, false, "1", true},
                      {"torchrun", 1, 16, false, "(unset)", false},
                      {"torchrun", 4, 16, true, "user", false},
                      {"off", 4, 16, false, "(unset)", false},
                      {"off", 4, 16, true, "user", false},
                      {"6", 4, 16, false, "6", false},
                      {"6", 1, 16, true, "6", false}};
  for (const Row& row : rows) {
    CAPTURE(row.omp);
    CAPTURE(row.workers);
    Fixture f;
    f.workers.omp = row.omp;
    f.start.slots.resize(row.workers);
    f.slot.local_rank = base::LocalRank{0};
    f.cpus = row.cpus;
    if (row.user_set) f.workers.environment = {"OMP_NUM_THREADS=user"};
    CHECK(f.variable("OMP_NUM_THREADS") == row.value);
    CHECK(f.make().notices.empty() == !row.notice);
  }
}

TEST_CASE(
    "a variable set by torchrun's rule is noticed, and only local rank 0 carries the notice") {
  Fixture f;
  f.workers.omp = "torchrun";
  CHECK(f.make().notices.empty());
  f.slot.local_rank = base::LocalRank{0};
  CHECK(f.make().notices.at(0).find("OMP_NUM_THREADS=1, as torchrun sets it") != std::string::npos);
}

TEST_CASE("PYTHONPATH gets our folder at its end, once, in native mode only") {
  Fixture f;
  CHECK(f.variable("PYTHONPATH") == "(unset)");
  f.workers.python_path = "/opt/r";
  CHECK(f.variable("PYTHONPATH") == "/opt/r");
  f.workers.environment = {"PYTHONPATH="};
  CHECK(f.variable("PYTHONPATH") == "/opt/r");
  f.workers.environment = {"PYTHONPATH=/mine:"};
  // The empty piece means the working directory: it stays.
  CHECK(f.variable("PYTHONPATH") == "/mine::/opt/r");
  f.workers.environment = {"PYTHONPATH=/mine:/opt/r:/x"};
  CHECK(f.variable("PYTHONPATH") == "/mine:/opt/r:/x");
  f.workers.environment = {"PYTHONPATH=/opt/robust"};
  CHECK(f.variable("PYTHONPATH") == "/opt/robust:/opt/r");
  f.workers.compat = true;
  CHECK(f.variable("PYTHONPATH") == "/opt/robust");
}

TEST_CASE("a virtual local rank is 0 and sees its own entry of the visible devices") {
  Fixture f;
  f.workers.virtual_local_rank = true;
  CHECK(f.variable("LOCAL_RANK") == "0");
  CHECK(f.variable("CUDA_VISIBLE_DEVICES") == "1");
  f.workers.environment = {"CUDA_VISIBLE_DEVICES=4, GPU-7f ,6"};
  CHECK(f.variable("CUDA_VISIBLE_DEVICES") == "GPU-7f");
  CHECK(f.make().argv.at(4) == "1");  // ${local_rank} stays the real one
  f.slot.local_rank = base::LocalRank{3};
  const auto made = agent::make_worker_command(f.workers, f.start, f.slot, f.files, 1);
  REQUIRE(!made);
  CHECK(made.error().code == base::Errc::kInvalidArgument);
  CHECK(made.error().what.find("CUDA_VISIBLE_DEVICES=4, GPU-7f ,6 lists only 3") !=
        std::string::npos);
}

TEST_CASE("visible devices pass unchanged without a virtual local rank") {
  Fixture f;
  CHECK(f.variable("CUDA_VISIBLE_DEVICES") == "(unset)");
  f.workers.environment = {"CUDA_VISIBLE_DEVICES=2,3"};
  CHECK(f.variable("CUDA_VISIBLE_DEVICES") == "2,3");
  CHECK(f.variable("LOCAL_RANK") == "1");
}

}  // namespace worker_command_test
