#include "launcher/hosts/host_file.h"

#include <doctest/doctest.h>

#include <string>

#include "launcher/hosts/limits.h"

namespace robustrun::launcher::host_file_test {
namespace {

using Hosts = std::vector<Host>;

Hosts read(std::string_view text) { return parse_host_file(text, "hosts").value(); }

std::string error_of(std::string_view text) {
  const auto hosts = parse_host_file(text, "hosts");
  return hosts ? "no error" : hosts.error().what;
}

}  // namespace

TEST_CASE("DeepSpeed's host files") {
  CHECK(read("worker-1 slots=4\nworker-2 slots=8\n") ==
        Hosts{{"worker-1", "", 0, 4}, {"worker-2", "", 0, 8}});
}

TEST_CASE("OpenMPI's host files, with blanks around the equals sign and max_slots") {
  CHECK(read("# ours\nfoo.example.org\n\nbar slots=2  # two\nada@yow slots = 4 max_slots=4\r\n") ==
        Hosts{{"foo.example.org", "", 0, 0}, {"bar", "", 0, 2}, {"yow", "ada", 0, 4}});
  CHECK(read("a slots=2 max-slots=3") == Hosts{{"a", "", 0, 2}});
}

TEST_CASE("plain lists, bracket ranges and several hosts on a line") {
  CHECK(read("n[1-2],x slots=3") == Hosts{{"n1", "", 0, 3}, {"n2", "", 0, 3}, {"x", "", 0, 3}});
  CHECK(read("  [::1]  \n10.0.0.[1-2]") ==
        Hosts{{"[::1]", "", 0, 0}, {"10.0.0.1", "", 0, 0}, {"10.0.0.2", "", 0, 0}});
}

TEST_CASE("a number after the colon is a count when small, a port when large or beside slots=") {
  CHECK(read("a:8\nb:1\nc:128") == Hosts{{"a", "", 0, 8}, {"b", "", 0, 1}, {"c", "", 0, 128}});
  CHECK(read("a:2222\nb:1024") == Hosts{{"a", "", 2222, 0}, {"b", "", 1024, 0}});
  CHECK(read("a:22 slots=8\nb:222 slots=8\nc:8 slots=2") ==
        Hosts{{"a", "", 22, 8}, {"b", "", 222, 8}, {"c", "", 8, 2}});
  CHECK(error_of("a:22").starts_with("hosts:1: 'a:22' may mean 22 workers or ssh's port 22"));
  CHECK(error_of("a:129").find("may mean") != std::string::npos);
  CHECK(error_of("a:1023").find("may mean") != std::string::npos);
}

TEST_CASE("errors name file and line") {
  CHECK(error_of("a\nb$\n") == "hosts:2: at character 2: no host name has the character '$'");
  CHECK(error_of("a\n\n# x\nb slots=0") == "hosts:4: 'slots=0': expected a number from 1 to 4096");
  CHECK(error_of("a slots=x").find("a number from 1") != std::string::npos);
  CHECK(error_of("a slots=4097").find("a number from 1") != std::string::npos);
  CHECK(error_of("a slots=").find("a number from 1") != std::string::npos);
  CHECK(error_of("a slots=1 slots=2") == "hosts:1: 'slots=' is given twice");
  CHECK(error_of("a slots=4 max_slots=2") == "hosts:1: slots=4 is more than max_slots=2");
  CHECK(error_of("a cpus=4") == "hosts:1: 'cpus=' is not known; slots= and max_slots= are");
  CHECK(error_of("a b").starts_with("hosts:1: 'b' is not KEY=VALUE"));
  CHECK(error_of("a = 4").find("''") == std::string::npos);
  CHECK(error_of("a\nb\na").starts_with("hosts:3: a is in line 1 already"));
  CHECK(error_of("") == "hosts:1: no host is named");
  CHECK(error_of("# nothing\n") == "hosts:2: no host is named");
}

TEST_CASE("every bound of a host file is reached") {
  CHECK(error_of(std::string(kHostFileBytesMax + 1, '\n')).starts_with("hosts: longer than"));
  const std::string most = "a[1-" + std::to_string(kHostsMax) + "]\n";
  CHECK(read(most).size() == kHostsMax);
  CHECK(error_of(most + "b").starts_with("hosts:2: more than"));
}

}  // namespace robustrun::launcher::host_file_test
