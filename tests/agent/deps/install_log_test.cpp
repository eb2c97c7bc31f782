#include "agent/deps/install_log.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "agent/deps/limits.h"
#include "base/io/fd.h"
#include "tests/scratch_folder.h"

namespace robustrun::agent::install_log_test {

TEST_CASE("the whole output is in the file, its last lines are in the error") {
  const test::ScratchFolder scratch;
  InstallLog log(scratch / "logs", base::NodeId{3});
  CHECK(log.tail().empty());
  std::string all;
  for (int i = 0; i < 2000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n\n";
    log.write(line);
    log.keep(line);
    all += line;
  }
  log.keep("ERROR: \x1b[31mno\n");
  CHECK(log.path() == scratch / "logs/deps.node3.log");
  CHECK(base::read_file(log.path(), 1 << 20).value() == all);
  CHECK(log.tail() ==
        "line 1995 / line 1996 / line 1997 / line 1998 / line 1999 / ERROR: \\x1b[31mno");
}

TEST_CASE("without a folder there is no file, and without a disk the end is still known") {
  for (const std::string& folder : {std::string(), std::string("/proc/none")}) {
    InstallLog log(folder, base::NodeId{0});
    log.write("words");
    log.keep("words");
    CHECK(log.tail() == "words");
  }
}

TEST_CASE("an error says why the installer failed, and quotes its last lines once") {
  using base::Errc;
  InstallLog log("/logs", base::NodeId{0});
  CHECK(log.why_failed({Errc::kNotFound, ENOENT, "cannot run pip: No such file"}) ==
        "cannot run pip: No such file; all of it: /logs/deps.node0.log");
  log.keep("Collecting torch\nfetching: 3 %\n");
  CHECK(log.why_failed({Errc::kUnavailable, 0, "exit code 1: fetching: 3 %"}) ==
        "exit code 1; its last lines: Collecting torch / fetching: 3 %; "
        "all of it: /logs/deps.node0.log");
  CHECK(log.why_failed(
            {Errc::kTimeout, 0, "no answer within 3600 s; its last line: fetching: 3 %"}) ==
        "it did not end within 3600 s; its last lines: Collecting torch / fetching: 3 %; "
        "all of it: /logs/deps.node0.log");
}

}  // namespace robustrun::agent::install_log_test
