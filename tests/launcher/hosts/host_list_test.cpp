#include "launcher/hosts/host_list.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/core/name_list.h"
#include "launcher/hosts/limits.h"

namespace robustrun::launcher::host_list_test {
namespace {

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> out;
  const auto hosts = parse_host_list(text);
  if (!hosts) return {hosts.error().what};
  for (const Host& host : *hosts) out.push_back(to_text(host));
  return out;
}

std::string error_of(std::string_view text) {
  const auto hosts = parse_host_list(text);
  return hosts ? "no error" : hosts.error().what;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("lists of hosts are expanded in the order they are written") {
  CHECK(names("node1") == Names{"node1"});
  CHECK(names("node[08-11,20]") == Names{"node08", "node09", "node10", "node11", "node20"});
  CHECK(names("node[1-3]") == Names{"node1", "node2", "node3"});
  CHECK(names("node[9-11]") == Names{"node9", "node10", "node11"});
  CHECK(names("gpu-[a,b]x") == Names{"gpu-ax", "gpu-bx"});
  CHECK(names("10.0.0.[1-2]") == Names{"10.0.0.1", "10.0.0.2"});
  CHECK(names("b,a") == Names{"b", "a"});
  CHECK(names(" a , b\n c\td ") == Names{"a", "b", "c", "d"});
  CHECK(names("[a,b].example.org") == Names{"a.example.org", "b.example.org"});
  CHECK(names("n[007]") == Names{"n007"});
  CHECK(names("n[000-001]") == Names{"n000", "n001"});
}

TEST_CASE("groups of brackets multiply, the last one fastest") {
  CHECK(names("r[1-2]n[01-02]") == Names{"r1n01", "r1n02", "r2n01", "r2n02"});
  CHECK(names("r[1-2]-[a,b],x") == Names{"r1-a", "r1-b", "r2-a", "r2-b", "x"});
}

TEST_CASE("user, port and IPv6 addresses") {
  const auto hosts =
      parse_host_list("ada@node[1-2]:2222,[::1]:22,[fe80::1%eth0],c@d@login").value();
  REQUIRE(hosts.size() == 5);
  CHECK(hosts[0] == Host{"node1", "ada", 2222, 0});
  CHECK(hosts[1] == Host{"node2", "ada", 2222, 0});
  CHECK(hosts[2] == Host{"[::1]", "", 22, 0});
  CHECK(hosts[3] == Host{"[fe80::1%eth0]", "", 0, 0});
  CHECK(hosts[4] == Host{"login", "c@d", 0, 0});
  CHECK(to_text(hosts[0]) == "ada@node1:2222");
  CHECK(to_text(hosts[2]) == "[::1]:22");
}

TEST_CASE("an invalid list is refused with position and cause") {
  CHECK(error_of("") == "at character 1: a host name is missing");
  CHECK(error_of("a,,b") == "at character 3: a host name is missing");
  CHECK(error_of("a,") == "at character 3: a host name is missing");
  CHECK(error_of("a,node[1-") == "at character 7: the bracket is not closed");
  CHECK(error_of("node[3-1]") == "at character 6: the range 3-1 runs backwards");
  CHECK(error_of("node[1,x-z]") ==
        "at character 8: 'x-z' is not a range of numbers; write [1-8] or [a,b]");
  CHECK(error_of("node[]") == "at character 6: there is nothing between the brackets or commas");
  CHECK(error_of("node[1,]") == "at character 8: there is nothing between the brackets or commas");
  CHECK(error_of("node[1-003]").find("different widths") != std::string::npos);
  CHECK(error_of("node[1-1234567890]").find("more than 9 digits") != std::string::npos);
  CHECK(error_of("a b$c") == "at character 4: no host name has the character '$'");
  CHECK(error_of("node1]") == "at character 6: no host name has the character ']'");
  CHECK(error_of("a\x1b[2J").find("\\x1b") != std::string::npos);
  CHECK(error_of("-oProxyCommand=x").find("no host name has the character '='") !=
        std::string::npos);
  CHECK(error_of("-lroot") ==
        "at character 1: '-lroot' is not a host name: it must begin with a letter or a digit");
  CHECK(error_of("[-a]").find("not a range") != std::string::npos);
  CHECK(error_of("node1,8") == "at character 7: '8' is not a host name but a number");
  CHECK(error_of("@a") == "at character 1: there is no user name before the @");
  CHECK(error_of("-x@a").find("'-x' is not a user name") != std::string::npos);
  CHECK(error_of("a:0") == "at character 3: '0' is not a port (1 to 65535)");
  CHECK(error_of("a:") == "at character 3: '' is not a port (1 to 65535)");
  CHECK(error_of("a:70000").find("is not a port") != std::string::npos);
  CHECK(error_of("fe80::1") == "at character 6: an IPv6 address needs brackets: [fe80::1]:22");
  CHECK(error_of("[::1]x").find("is not an IPv6 address") != std::string::npos);
  CHECK(error_of("[::g]").find("is not an IPv6 address") != std::string::npos);
}

TEST_CASE("a host named twice is refused; another port makes another host") {
  CHECK(error_of("a,b,a").starts_with("a is named twice; name each host once"));
  CHECK(error_of("node[1-3],x@node2").starts_with("x@node2 is named twice"));
  CHECK(names("a:2201,a:2202") == Names{"a:2201", "a:2202"});
}

TEST_CASE("every bound of a list is reached") {
  const std::string most = std::to_string(kHostsMax);
  CHECK(parse_host_list("n[1-" + most + "]")->size() == kHostsMax);
  CHECK(error_of("n[0-" + most + "]") == "at character 3: more than " + most + " hosts");
  CHECK(error_of("n[1-" + most + "],x").find("more than " + most) != std::string::npos);
  CHECK(error_of("n[1-200][1-200]").find("more than " + most) != std::string::npos);
  CHECK(error_of(std::string(kHostListBytesMax + 1, 'a')).starts_with("it is longer than"));
  CHECK(names(std::string(kHostNameBytesMax, 'a')).front().size() == kHostNameBytesMax);
  CHECK(error_of(std::string(kHostNameBytesMax + 1, 'a')).find("longer than 255") !=
        std::string::npos);
  std::string groups = "n";
  for (std::size_t i = 0; i < base::kBracketGroupsMax; ++i) groups += "[1]";
  CHECK(names(groups) == Names{"n11111111"});
  CHECK(error_of(groups + "[1]").find("more than 8 pairs of brackets") != std::string::npos);
  CHECK(error_of(std::string(kUserNameBytesMax + 1, 'u') + "@a").find("is not a user name") !=
        std::string::npos);
}

TEST_CASE("the natural order counts runs of digits as numbers") {
  auto hosts = parse_host_list("node10,node2,gpu1:2202,gpu1:2201,node1").value();
  sort_naturally(hosts);
  Names sorted;
  for (const Host& host : hosts) sorted.push_back(to_text(host));
  CHECK(sorted == Names{"gpu1:2201", "gpu1:2202", "node1", "node2", "node10"});
}

}  // namespace robustrun::launcher::host_list_test
