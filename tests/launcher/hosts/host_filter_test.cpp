#include "launcher/hosts/host_filter.h"

#include <doctest/doctest.h>

#include <string>

#include "launcher/hosts/host_file.h"
#include "launcher/hosts/host_list.h"
#include "launcher/hosts/limits.h"

namespace robustrun::launcher::host_filter_test {
namespace {

const std::vector<Host>& cluster() {
  static const auto hosts =
      parse_host_file("n[1-3] slots=4\nada@gpu-01 slots=8\n[::1]\n", "hosts").value();
  return hosts;
}

std::string shown(const base::Result<std::vector<Host>>& hosts) {
  if (!hosts) return hosts.error().what;
  std::string text;
  for (const Host& host : *hosts) text += to_text(host) + "=" + std::to_string(host.slots) + " ";
  return text;
}

std::string including(std::string_view filter) { return shown(include_hosts(cluster(), filter)); }
std::string excluding(std::string_view filter) { return shown(exclude_hosts(cluster(), filter)); }

}  // namespace

TEST_CASE("included hosts keep the order of the list") {
  CHECK(including("n3@n1") == "n1=4 n3=4 ");
  CHECK(including("gpu-01,n[2-3]") == "n2=4 n3=4 ada@gpu-01=8 ");
  CHECK(including("[::1]@n1") == "n1=4 [::1]=0 ");
}

TEST_CASE("slots from 0 without a gap become a number of workers") {
  CHECK(including("n1:0,1@n2") == "n1=2 n2=4 ");
  CHECK(including("n[1-2]:1,0") == "n1=2 n2=2 ");
  CHECK(including("[::1]:0,1,2") == "[::1]=3 ");
  CHECK(including("n1:0,0") == "n1=1 ");
}

TEST_CASE("other slots are refused, because workers use the first devices of a host") {
  CHECK(including("n1:2,3").starts_with("n1: workers on slots 2,3 alone cannot be had"));
  CHECK(excluding("n1:0").starts_with("n1: workers on slots 1,2,3 alone cannot be had"));
  CHECK(including("n1:0,9") == "n1 has slots 0 to 3, and no slot 9");
}

TEST_CASE("excluded hosts are removed, or only the given slots") {
  CHECK(excluding("n2@gpu-01,[::1]") == "n1=4 n3=4 ");
  CHECK(excluding("n2@gpu-01@[::1]") == "n1=4 n3=4 ");
  CHECK(excluding("n1:3@n2:0,1,2,3") == "n1=3 n3=4 ada@gpu-01=8 [::1]=0 ");
  CHECK(excluding("[::1]:0").starts_with("nothing says how many slots [::1] has"));
  CHECK(excluding("n[1-3],gpu-01@[::1]") == "no host is left");
}

TEST_CASE("a filter that names unknown hosts or slots is refused") {
  CHECK(including("n4") == "n4 is not among the hosts (did you mean n1?)");
  CHECK(including("elsewhere") == "elsewhere is not among the hosts");
  CHECK(including("n1@n1") == "in 'n1' n1 is named twice");
  CHECK(including("n1,n2:0") ==
        "a comma does not tell whose the slots are; separate the hosts with @");
  CHECK(including("n[1,3]:0") == "n1=1 n3=1 ");
  CHECK(including("n1:x").starts_with("'x' is not a slot"));
  CHECK(including("n1@n2:").starts_with("in 'n2:' '' is not a slot"));
  CHECK(including("n1@") == "in '' at character 1: a host name is missing");
  CHECK(including("") == "at character 1: a host name is missing");
  CHECK(including("n1:" + std::to_string(kDevicesMax)).find("is not a slot") != std::string::npos);
  CHECK(including(std::string(kHostListBytesMax + 1, 'a')).starts_with("it is longer than"));
}

}  // namespace robustrun::launcher::host_filter_test
