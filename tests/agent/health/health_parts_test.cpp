// Findings about file systems, pressure and the clock, and the limit on findings.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "agent/health/clock_health.h"
#include "agent/health/finding_limit.h"
#include "agent/health/limits.h"
#include "agent/health/mount_health.h"
#include "agent/health/pressure_health.h"
#include "tests/scratch_folder.h"
#include "wire/messages/limits.h"

namespace robustrun::agent::health_parts_test {
namespace {

using std::chrono::seconds;
using wire::NodeHealth;
using Lines = std::vector<std::string>;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

Lines lines_of(const std::vector<NodeHealth>& found) {
  Lines lines;
  for (const NodeHealth& each : found) lines.push_back(each.line + (each.over ? " (over)" : ""));
  return lines;
}

MountReading room(std::uint64_t total, std::uint64_t free) {
  return {.total = total, .free = free, .files = 1000, .files_free = 900, .error = {}};
}

TEST_CASE("a file system is nearly full below 1 %, or below 1 GiB and 5 %") {
  CHECK(is_nearly_full(room(1000 * kGiB, 9 * kGiB)));
  CHECK_FALSE(is_nearly_full(room(1000 * kGiB, 11 * kGiB)));
  CHECK(is_nearly_full(room(50 * kGiB, kGiB - 1)));
  CHECK_FALSE(is_nearly_full(room(50 * kGiB, kGiB)));
  CHECK_FALSE(is_nearly_full(room(kGiB / 16, kGiB / 32)));  // a container's /dev/shm
  CHECK(is_nearly_full(room(kGiB / 16, kGiB / 1000)));
  CHECK_FALSE(is_nearly_full(room(0, 0)));  // its size is unknown
  MountReading no_files = room(1000 * kGiB, 500 * kGiB);
  no_files.files_free = 9;
  CHECK(is_nearly_full(no_files));
}

TEST_CASE("a change of a file system is reported once, and so is its end") {
  const MountReading fine = room(1000 * kGiB, 500 * kGiB);
  const MountReading full = room(1000 * kGiB, 2 * kGiB);
  MountReading stale;
  stale.error = "Stale file handle";
  MountReading read_only = fine;
  read_only.read_only = true;
  const auto reported = [](const std::optional<MountReading>& before, const MountReading& now) {
    return lines_of(mount_changes("/data", before, now));
  };
  CHECK(reported({}, fine).empty());
  CHECK(reported(fine, fine).empty());
  CHECK(reported(fine, full) ==
        Lines{"/data is nearly full: 2048 MiB of 1024000 MiB and 900 of 1000 "
              "files are free"});
  CHECK(reported({}, full).size() == 1);
  CHECK(reported(full, full).empty());
  CHECK(reported(full, fine) == Lines{"/data has room again (over)"});
  CHECK(reported(fine, stale) == Lines{"/data cannot be read: Stale file handle"});
  CHECK(reported(stale, stale).empty());
  CHECK(reported(stale, fine) == Lines{"/data can be read again (over)"});
  CHECK(reported(fine, read_only) == Lines{"/data has become read-only"});
  CHECK(reported({}, read_only).empty());  // it always was
  CHECK(reported(read_only, fine) == Lines{"/data can be written again (over)"});
}

TEST_CASE("a folder lies on the mount with the longest name") {
  const auto mounts = parse_mountinfo(
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "nonsense\n"
      "40 22 0:32 / /data rw,relatime shared:10 - nfs4 filer:/x rw,vers=4.2\n"
      "41 22 0:33 / /with\\040space rw - tmpfs tmpfs rw\n");
  CHECK(mounts == Lines{"/", "/data", "/with space"});
  CHECK(mount_of(mounts, "/data/job") == "/data");
  CHECK(mount_of(mounts, "/data") == "/data");
  CHECK(mount_of(mounts, "/database") == "/");
  CHECK(mount_of(mounts, "/with space/x") == "/with space");
  CHECK(mount_of({}, "/data").empty());
}

TEST_CASE("each mount of the job's is watched once, and a missing folder is waited for") {
  const test::ScratchFolder root;
  root.write("proc/self/mountinfo",
             "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 0:32 / /data rw - nfs4 filer:/x rw\n");
  wire::WorkerTemplate workers;
  workers.working_directory = "/data/job";
  workers.log_directory = "/data/job/logs";
  workers.interpreter = "/data/env/bin/python3";
  workers.program = "train.py";
  workers.environment = {"TMPDIR=/scratch"};
  const auto probes = mount_probes(root.path(), workers);
  REQUIRE(probes.size() == 2);
  CHECK(probes[0].subject == "/data");
  CHECK(probes[1].subject == "/");
  CHECK(probes[0].source == NodeHealth::Source::kDisk);
  CHECK(probes[0].probe->look({}).empty());
  std::filesystem::create_directories(root / "data/job");
  CHECK(lines_of(probes[0].probe->look({})).size() <= 1);  // the disk below may be full
  std::filesystem::remove_all(root / "data/job");
  CHECK(lines_of(probes[0].probe->look({})) ==
        Lines{"/data cannot be read: No such file or directory"});
}

TEST_CASE("pressure is read from the kernel's text") {
  CHECK(full_pressure("some avg10=9.00 avg60=1.00 total=1\nfull avg10=12.34 avg60=0 total=0\n") ==
        12.34);
  for (const char* const text :
       {"", "some avg10=9.00", "full avg10=", "full avg10=-1", "full avg10=101", "full avg60=3"}) {
    CAPTURE(text);
    CHECK_FALSE(full_pressure(text).has_value());
  }
}

TEST_CASE("pressure is reported when it lasts, and over when it stays away") {
  PressureHistory history;
  const auto reported = [&](int at, double memory) {
    return lines_of(history.take({memory, 0, {}}, seconds(at)));
  };
  CHECK(reported(0, 90).empty());
  CHECK(reported(25, 90).empty());
  CHECK(reported(26, 1).empty());  // it went away: the time counts anew
  CHECK(reported(30, 90).empty());
  CHECK(reported(59, 90).empty());
  CHECK(reported(60, 90) == Lines{"memory pressure: nothing went on in 90 % of the time for 30 s"});
  CHECK(reported(65, 90).empty());
  CHECK(reported(70, 1).empty());
  CHECK(reported(100, 1) == Lines{"memory pressure is below 20 % again (over)"});
  CHECK(history.take({0, 99, {}}, seconds(200)).empty());
  const auto processors = history.take({0, 99, {}}, seconds(230));
  REQUIRE(processors.size() == 1);
  CHECK(processors[0].source == NodeHealth::Source::kProcessor);
}

TEST_CASE("the OOM killer's counter reports where the kernel's log cannot") {
  PressureHistory history;
  const auto reported = [&](std::optional<std::uint64_t> kills) {
    return lines_of(history.take({0, 0, kills}, seconds(1)));
  };
  CHECK(reported(4).empty());
  CHECK(reported(4).empty());
  CHECK(reported(6) == Lines{"out of memory: Killed process (counter of the OOM killer: 2 more)"});
  CHECK(reported({}).empty());
}

TEST_CASE("the probe finds its files below the root") {
  const test::ScratchFolder root;
  root.write("proc/pressure/memory", "full avg10=50.00 avg60=0 avg300=0 total=0\n");
  root.write("proc/vmstat", "oom_kill 1\n");
  const auto probe = pressure_probe(root.path(), true).probe;
  CHECK(probe->look(seconds(0)).empty());
  root.write("proc/vmstat", "oom_kill 2\n");
  CHECK(probe->look(seconds(30)).size() == 2);
}

TEST_CASE("a jump of the wall clock is reported, slow correction and suspending are not") {
  const ClockReading before{seconds(1000), seconds(50)};
  CHECK(clock_changes(before, {seconds(1005), seconds(55)}).empty());
  CHECK(
      clock_changes(before, {seconds(1005) + std::chrono::milliseconds(900), seconds(55)}).empty());
  CHECK(lines_of(clock_changes(before, {seconds(1065), seconds(55)})) ==
        Lines{"the clock of day jumped by +60.0 s"});
  CHECK(lines_of(clock_changes(before, {seconds(1000), seconds(55)})) ==
        Lines{"the clock of day jumped by -5.0 s"});
}

TEST_CASE("the machine's age is read to the hundredth of a second") {
  CHECK(parse_uptime("350735.47 234388.90\n") == seconds(350735) + std::chrono::milliseconds(470));
  for (const char* const text : {"", "350735", "1.5 2", "x.00 1", "-1.00 1", "1.-1 1",
                                 "99999999999999999999.00 1", "9999999999999999.00 1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_uptime(text).has_value());
  }
}

TEST_CASE("a short text ends with a complete character and shows everything") {
  using wire::short_text;
  CHECK(short_text("größe", 7) == "größe");
  CHECK(short_text("größe", 6) == "größ");
  CHECK(short_text("größe", 5) == "grö");
  CHECK(short_text("größe", 4) == "grö");
  CHECK(short_text("größe", 3) == "gr");
  CHECK(short_text("\x1b[2J\n", 100) == "\\x1b[2J\\x0a");
  CHECK(short_text("abc", 0).empty());
}

TEST_CASE("of one source a limited number per minute is reported, and how many were dropped") {
  FindingLimit limit;
  NodeHealth disk{NodeHealth::Source::kDisk, "/data", "x", 0, false};
  for (unsigned i = 0; i < kFindingsPerMinute; ++i) CHECK(limit.admit(disk, seconds(i)));
  CHECK_FALSE(limit.admit(disk, seconds(30)));
  CHECK_FALSE(limit.admit(disk, seconds(31)));
  NodeHealth over = disk;
  over.over = true;
  CHECK(limit.admit(over, seconds(31)));
  NodeHealth gpu{NodeHealth::Source::kGpu, "GPU 3", "y", 0, false};
  CHECK(limit.admit(gpu, seconds(31))->line == "y");
  disk.line = std::string(wire::kHealthLineBytesMax, 'z');
  const auto later = limit.admit(disk, seconds(60));
  REQUIRE(later.has_value());
  CHECK(later->line.ends_with("zz (after 2 that were left out)"));
  CHECK(later->line.size() == wire::kHealthLineBytesMax);
}

TEST_CASE("the same trouble is reported once within its time, and few are remembered") {
  Repeats repeats{seconds(10)};
  CHECK_FALSE(repeats.is_repeated("sda", seconds(0)));
  CHECK(repeats.is_repeated("sda", seconds(9)));
  CHECK_FALSE(repeats.is_repeated("sdb", seconds(9)));
  CHECK_FALSE(repeats.is_repeated("sda", seconds(10)));
  for (std::size_t i = 0; i < 2 * kKernelTopicsMax; ++i) {
    CHECK_FALSE(repeats.is_repeated(std::to_string(i), seconds(11)));
  }
  CHECK_FALSE(repeats.is_repeated("sda", seconds(12)));  // forgotten
}

TEST_CASE("an error of a GPU that both sources report is one finding") {
  using Source = XidEchoes::Source;
  XidEchoes echoes;
  CHECK_FALSE(echoes.is_echo(Source::kLibrary, "0000:3b:00", 79, seconds(1)));
  CHECK(echoes.is_echo(Source::kKernelLog, "0000:3b:00", 79, seconds(2)));
  CHECK_FALSE(echoes.is_echo(Source::kKernelLog, "0000:3b:00", 79, seconds(3)));
  CHECK_FALSE(echoes.is_echo(Source::kLibrary, "0000:5e:00", 79, seconds(3)));
  CHECK_FALSE(echoes.is_echo(Source::kLibrary, "0000:3b:00", 48, seconds(3)));
  CHECK_FALSE(echoes.is_echo(Source::kLibrary, "0000:3b:00", 79, seconds(14)));
}

}  // namespace
}  // namespace robustrun::agent::health_parts_test
