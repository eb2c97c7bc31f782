#include "agent/health/nic_health.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/health/limits.h"
#include "tests/scratch_folder.h"

namespace robustrun::agent::nic_health_test {
namespace {

using Lines = std::vector<std::string>;

// A sysfs of plain files.
struct FakeLinks {
  void interface(const std::string& name, bool up, unsigned downs = 0, unsigned errors = 0) const {
    const std::string at = "sys/class/net/" + name + "/";
    folder.write(at + "operstate", up ? "up\n" : "down\n");
    folder.write(at + "carrier", up ? "1\n" : "0\n");
    folder.write(at + "carrier_down_count", std::to_string(downs) + "\n");
    folder.write(at + "type", "1\n");
    folder.write(at + "statistics/rx_errors", std::to_string(errors) + "\n");
    folder.write(at + "statistics/tx_errors", "0\n");
    folder.write(at + "statistics/rx_dropped", "0\n");
  }
  void physical(const std::string& name) const {
    folder.write("sys/class/net/" + name + "/device/vendor", "0x15b3\n");
  }
  void port(const std::string& adapter, bool active, unsigned downs = 0, unsigned errors = 0,
            const std::string& layer = "InfiniBand") const {
    const std::string at = "sys/class/infiniband/" + adapter + "/ports/1/";
    folder.write(at + "state", active ? "4: ACTIVE\n" : "1: DOWN\n");
    folder.write(at + "link_layer", layer + "\n");
    folder.write(at + "counters/link_downed", std::to_string(downs) + "\n");
    folder.write(at + "counters/symbol_error", std::to_string(errors) + "\n");
  }
  [[nodiscard]] Lines names(const std::vector<std::string>& environment = {}) const {
    Lines found;
    for (const LinkReading& each : read_links(folder.path(), environment)) {
      found.push_back(each.name);
    }
    return found;
  }
  // Findings since the last call: "eth0: …", with "(over)" for ends.
  Lines news() {
    Lines found;
    for (const auto& each : history.take(read_links(folder.path(), {}))) {
      CHECK(each.source == wire::NodeHealth::Source::kNetwork);
      CHECK(each.line.starts_with(each.subject + ": "));
      found.push_back(each.line + (each.over ? " (over)" : ""));
    }
    return found;
  }

  test::ScratchFolder folder;
  LinkHistory history;
};

TEST_CASE("physical interfaces are watched, and those that carry the job") {
  FakeLinks links;
  for (const char* const name : {"lo", "docker0", "eth0", "veth1", "bond0", "ib0", "vf3"}) {
    links.interface(name, true);
  }
  for (const char* const name : {"eth0", "ib0", "vf3"}) links.physical(name);
  links.folder.write("sys/class/net/ib0/type", "32\n");  // its port is watched
  links.folder.write("sys/class/net/vf3/device/physfn/vendor", "0x15b3\n");
  links.port("mlx5_0", true);
  links.port("mlx5_1", true, 0, 0, "Ethernet");  // its interface is watched
  CHECK(links.names() == Lines{"eth0", "mlx5_0/1"});
  links.folder.write("proc/net/route",
                     "Iface\tDestination\nbond0\t00000000\tx\neth9\t0000FEA9\t\n");
  CHECK(links.names({"NCCL_SOCKET_IFNAME=veth", "GLOO_SOCKET_IFNAME=^docker0"}) ==
        Lines{"bond0", "eth0", "veth1", "mlx5_0/1"});
  CHECK(links.names({"NCCL_SOCKET_IFNAME==vf3"}) == Lines{"bond0", "eth0", "vf3", "mlx5_0/1"});
}

TEST_CASE("a machine without adapters has no links") { CHECK(FakeLinks().news().empty()); }

TEST_CASE("a lost link is reported once, and that it is back") {
  FakeLinks links;
  links.physical("eth0");
  links.interface("eth0", true, 5);
  CHECK(links.news().empty());
  links.interface("eth0", false, 6);
  CHECK(links.news() == Lines{"eth0: its link is down"});
  CHECK(links.news().empty());
  links.interface("eth0", true, 6);
  CHECK(links.news() == Lines{"eth0: its link is up again (over)"});
  CHECK(links.news().empty());
}

TEST_CASE("a link that was down at first is not reported before it has been up") {
  FakeLinks links;
  links.physical("eth1");
  links.interface("eth1", false, 1);
  CHECK(links.news().empty());
  links.interface("eth1", false, 3);
  CHECK(links.news().empty());
  links.interface("eth1", true, 3);
  CHECK(links.news().empty());
  links.interface("eth1", false, 4);
  CHECK(links.news().size() == 1);
}

TEST_CASE("a flap between two looks is reported, once for each look") {
  FakeLinks links;
  links.physical("eth0");
  links.interface("eth0", true, 5);
  links.port("mlx5_0", true, 7);
  CHECK(links.news().empty());
  links.interface("eth0", true, 6);
  CHECK(links.news() == Lines{"eth0: its link went down and came up again (flap)"});
  links.interface("eth0", true, 9);
  links.port("mlx5_0", true, 8);
  CHECK(links.news() == Lines{"eth0: its link went down and came up again 3 times (flap)",
                              "mlx5_0/1: its link went down and came up again (flap)"});
  CHECK(links.news().empty());
}

TEST_CASE("a link that flapped and then was lost is reported for both") {
  FakeLinks links;
  links.port("mlx5_0", true, 7);
  CHECK(links.news().empty());
  links.port("mlx5_0", false, 9);
  CHECK(links.news() == Lines{"mlx5_0/1: its link went down and came up again (flap)",
                              "mlx5_0/1: its link is down"});
}

TEST_CASE("kernels before 4.16 count both ways in one") {
  FakeLinks links;
  links.physical("eth0");
  links.interface("eth0", true);
  const auto changes = [&](bool up, const char* count) {
    links.interface("eth0", up);
    std::filesystem::remove(links.folder / "sys/class/net/eth0/carrier_down_count");
    links.folder.write("sys/class/net/eth0/carrier_changes", count);
  };
  changes(true, "3\n");
  CHECK(links.news().empty());
  changes(true, "5\n");
  CHECK(links.news() == Lines{"eth0: its link went down and came up again (flap)"});
  changes(false, "6\n");
  CHECK(links.news() == Lines{"eth0: its link is down"});
  changes(true, "7\n");
  CHECK(links.news() == Lines{"eth0: its link is up again (over)"});
}

TEST_CASE("an interface that is gone has lost its link") {
  FakeLinks links;
  links.physical("eth0");
  links.interface("eth0", true);
  CHECK(links.news().empty());
  std::filesystem::remove_all(links.folder / "sys/class/net/eth0");
  CHECK(links.news() == Lines{"eth0: the interface is gone: its link is down"});
  CHECK(links.news().empty());
  links.physical("eth0");
  links.interface("eth0", true);
  CHECK(links.news() == Lines{"eth0: its link is up again (over)"});
}

TEST_CASE("growing errors are reported once and are over after a quiet while") {
  FakeLinks links;
  links.port("mlx5_0", true, 0, 10);
  CHECK(links.news().empty());
  links.port("mlx5_0", true, 0, 10 + kNicErrorsMin - 1);
  CHECK(links.news().empty());
  unsigned errors = 1000;
  links.port("mlx5_0", true, 0, errors);
  CHECK(links.news().size() == 1);
  links.port("mlx5_0", true, 0, errors += 1000);
  CHECK(links.news().empty());
  for (unsigned i = 1; i < kNicQuietLooks; ++i) CHECK(links.news().empty());
  CHECK(links.news() == Lines{"mlx5_0/1: its error counters no longer grow (over)"});
  links.port("mlx5_0", true, 0, 50);  // reset: 50 since then
  CHECK(links.news().empty());
}

}  // namespace
}  // namespace robustrun::agent::nic_health_test
