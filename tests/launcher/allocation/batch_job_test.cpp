#include "launcher/allocation/batch_job.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <csignal>

#include "tests/scratch_folder.h"

namespace robustrun::launcher::batch_job_test {
namespace {

using namespace std::chrono_literals;
using enum BatchSystem;
using Words = std::vector<std::string>;

constexpr base::Nanos kNow = 1'000'000s;

// The seconds that are left; -1: no limit; -2: an error.
std::int64_t left(BatchSystem system, std::string_view shown) {
  const auto end = read_batch_end(system, shown, kNow);
  if (!end) return -2;
  if (!*end) return -1;
  return std::chrono::duration_cast<std::chrono::seconds>(**end - kNow).count();
}

// As in the manuals and examples of these systems; shortened.
constexpr const char* kQstatF =
    "Job Id: 7.pbs\n    Job_Name = train\n    resources_used.walltime = 00:10:00\n"
    "    Resource_List.select = 4\n    Resource_List.walltime = 04:00:00\n";
// Grid Engine 8.1.9's own; shortened.
std::string qstat_xml(std::string_view limit, std::string_view start) {
  std::string text = "<?xml version='1.0'?>\n<djob_info>\n<JB_job_number>7</JB_job_number>\n";
  if (!limit.empty()) {
    text += fmt::format(
        "<qstat_l_requests>\n<CE_name>gpu</CE_name>\n<CE_doubleval>8.000000</CE_doubleval>\n"
        "<CE_name>h_rt</CE_name>\n<CE_stringval>4:00:00</CE_stringval>\n"
        "<CE_doubleval>{}.000000</CE_doubleval>\n</qstat_l_requests>\n",
        limit);
  }
  return text + fmt::format(
                    "<JAT_task_number>1</JAT_task_number>\n<JAT_start_time>{}"
                    "</JAT_start_time>\n</djob_info>\n",
                    start);
}

TEST_CASE("the end of a job is its limit less what it has used, or what is left") {
  CHECK(left(kPbs, kQstatF) == 4 * 3600 - 600);
  CHECK(left(kPbs, "Job Id: 7.pbs\n    Resource_List.walltime = 24:00:00\n") == 24 * 3600);
  CHECK(left(kPbs, "Job Id: 7.pbs\n    Resource_List.select = 4\n") == -1);
  CHECK(left(kGridEngine, qstat_xml("14400", "999400")) == 4 * 3600 - 600);
  CHECK(left(kGridEngine, qstat_xml("", "999400")) == -1);
  // Of newer kinds of Grid Engine.
  const auto future = [](std::string_view start) {
    return read_batch_end(kGridEngine, qstat_xml("14400", start), kNow).value();
  };
  CHECK(future("1795971886000") == base::Nanos(1'795'971'886s + 4h));
  CHECK(future("1795971886000000") == base::Nanos(1'795'971'886s + 4h));
  CHECK(left(kLsf, "11:59 L\n") == (11 * 60 + 59) * 60);
  CHECK(left(kLsf, "0:0 L\n") == 0);
  CHECK(left(kLsf, "-\n") == -1);
}

TEST_CASE("what is about no job, or has no readable limit, is an error") {
  for (const BatchSystem system : {kPbs, kGridEngine, kLsf}) {
    for (const char* garbage : {"", "Unknown Job Id 7", "Job <7> is not found", "\xff\x01", "12"}) {
      CAPTURE(garbage);
      CHECK(left(system, garbage) == -2);
    }
  }
  CHECK(left(kPbs, "Job Id: 7\n Resource_List.walltime = soon\n") == -2);
  CHECK(left(kGridEngine, qstat_xml("INFINITY", "999400")) == -2);
  CHECK(left(kGridEngine, qstat_xml("14400", "0")) == -2);
  CHECK(left(kGridEngine, qstat_xml("14400", "soon")) == -2);
  CHECK(left(kPbs, "Job Id: 7\n Resource_List.walltime = 1:2:3:4:5\n") == -2);
  CHECK(left(kPbs, "Job Id: 7\n Resource_List.walltime = -1\n") == -2);
  CHECK(left(kPbs, "Job Id: 7\n Resource_List.walltime = 99999999999999999999\n") == -2);
  CHECK(read_batch_end(kLsf, "Job <7> is not found", kNow).error().what ==
        "bjobs shows no readable end: 'Job <7> is not found'");
}

TEST_CASE("a task of an array is asked for and queued again alone") {
  CHECK(show_argv({kGridEngine, "7.3", "/bin", {}}).back() == "7");
  CHECK(requeue_argv({kGridEngine, "7.3", "/bin", {}}).back() == "7.3");
  CHECK(show_argv({kLsf, "7[3]", "/bin", {}}).back() == "7[3]");
  CHECK(show_argv({kPbs, "7[3].pbs", "/bin", {}}).back() == "7[3].pbs");
}

TEST_CASE("each system has its own commands") {
  CHECK(remote_shell(kGridEngine) == Words{"qrsh", "-inherit"});
  CHECK(remote_shell(kLsf) == Words{"blaunch"});
  CHECK(remote_shell(kPbs).empty());
  CHECK(show_argv({kPbs, "7.pbs", "/bin", {}}) == Words{"/bin/qstat", "-f", "7.pbs"});
  CHECK(show_argv({kGridEngine, "7", "/bin", {}}) == Words{"/bin/qstat", "-xml", "-j", "7"});
  CHECK(show_argv({kLsf, "7", "/bin", {}}) ==
        Words{"/bin/bjobs", "-noheader", "-o", "time_left", "7"});
  CHECK(requeue_argv({kPbs, "7.pbs", "/bin", {}}) == Words{"/bin/qrerun", "7.pbs"});
  CHECK(requeue_argv({kGridEngine, "7", "/bin", {}}) == Words{"/bin/qmod", "-rj", "7"});
  CHECK(requeue_argv({kLsf, "7", "/bin", {}}) == Words{"/bin/brequeue", "7"});
}

TEST_CASE("a warning of a job's end, besides SIGTERM") {
  CHECK(warning_signals(kGridEngine) == std::vector{SIGUSR1, SIGUSR2});
  CHECK(warning_signals(kLsf) == std::vector{SIGUSR2});
  CHECK(warning_signals(kPbs).empty());
}

TEST_CASE("a task's own start counts, of all that Grid Engine shows") {
  const robustrun::test::ScratchFolder folder;
  const std::string path = folder.write("qstat", "#!/bin/sh\ncat \"$0.xml\"\n");
  REQUIRE(::chmod(path.c_str(), 0755) == 0);
  folder.write("qstat.xml", qstat_xml("14400",
                                      "1000</JAT_start_time><JAT_task_number>3"
                                      "</JAT_task_number><JAT_start_time>2000"));
  const auto end = [&](const char* id) {
    return ask_batch_end({kGridEngine, id, folder.path(), {}}).value().value();
  };
  CHECK(end("7") == base::Nanos(1000s + 4h));
  CHECK(end("7.3") == base::Nanos(2000s + 4h));
}

TEST_CASE("a played qstat is asked; one that fails or is missing is an error") {
  const robustrun::test::ScratchFolder folder;
  const auto play = [&](const std::string& script) {
    const std::string path = folder.write("qstat", "#!/bin/sh\n" + script);
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    return ask_batch_end({kPbs, "7", folder.path(), {}});
  };
  const auto end = play("echo 'Job Id: 7'; echo '  Resource_List.walltime = 01:00:00'\n");
  REQUIRE(end);
  CHECK(end->has_value());
  CHECK(play("echo 'qstat: cannot connect' >&2; exit 255\n").error().what ==
        "qstat ended with exit code 255: qstat: cannot connect");
  CHECK_FALSE(ask_batch_end({kPbs, "7", "/nonexistent", {}}));
}

}  // namespace
}  // namespace robustrun::launcher::batch_job_test
