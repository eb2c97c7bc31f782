#pragma once
// Fakes of machine, network and fabric made of tables, and surroundings that use them.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli::testing {

class FakeMachine final : public Machine {
 public:
  std::map<std::string, std::string> files;
  std::map<std::string, PathKind> kinds;  // besides files
  std::set<std::string> executables = {"/usr/bin/python3"};
  std::map<std::string, Devices> accelerators;
  base::ToolResult python;  // what any interpreter answers
  std::map<std::string, std::string> secrets;
  std::map<std::string, std::vector<supervisor::NodeNote>> notes;  // by folder

  [[nodiscard]] base::Result<std::string> read_file(const std::string& path) const override {
    const auto found = files.find(path);
    if (found == files.end()) return base::fail(base::Errc::kNotFound, "no such file");
    return found->second;
  }
  [[nodiscard]] PathKind kind(const std::string& path) const override {
    if (files.contains(path)) return PathKind::kFile;
    const auto found = kinds.find(path);
    return found == kinds.end() ? PathKind::kMissing : found->second;
  }
  std::set<std::string> of_others;
  [[nodiscard]] bool is_others(const std::string& path) const override {
    return of_others.contains(path);
  }
  [[nodiscard]] base::Result<std::string> find_executable(const std::string& name,
                                                          const std::string& path) const override {
    for (std::string_view rest = path;;) {
      const auto colon = rest.find(':');
      const std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
      if (executables.contains(candidate)) return candidate;
      if (colon == std::string_view::npos) return base::fail(base::Errc::kNotFound, "none");
      rest.remove_prefix(colon + 1);
    }
  }
  [[nodiscard]] base::Result<Devices> devices(const std::string&,
                                              const std::string& name) const override {
    const auto found = accelerators.find(name);
    if (found != accelerators.end()) return found->second;
    const bool known = name == "gpu" || name == "xpu" || name == "auto";
    return Devices{known ? Devices::State::kUnavailable : Devices::State::kUnknownName, 0};
  }
  [[nodiscard]] base::Result<base::ToolResult> ask_python(
      const std::vector<std::string>& argv, std::chrono::milliseconds) const override {
    asked = argv;
    return python;
  }
  mutable std::vector<std::string> asked;  // the last question to an interpreter
  [[nodiscard]] base::Result<supervisor::NodeHistory> node_history(
      const std::string& directory) const override {
    const auto found = notes.find(directory);
    if (found == notes.end()) return supervisor::NodeHistory{};
    return supervisor::NodeHistory{found->second, 0, {}};
  }
  [[nodiscard]] base::Result<std::string> read_secret(const std::string& path) const override {
    const auto found = secrets.find(path);
    if (found != secrets.end()) return found->second;
    return base::fail(base::Errc::kNotFound, "it cannot be read: no such file");
  }
};

// Our own address is 10.0.0.7; `names` is the name service.
class FakeNetwork final : public Network {
 public:
  std::set<std::uint16_t> taken_ports;
  std::vector<std::string> addresses = {"10.0.0.7", "fd00::7", "127.0.0.1", "::1"};
  std::map<std::string, std::vector<std::string>> names = {{"node1", {"10.0.0.1"}},
                                                           {"alias7", {"fd00::7", "10.0.0.7"}}};

  [[nodiscard]] base::Status check_port(std::uint16_t port) const override {
    if (!taken_ports.contains(port)) return {};
    return base::fail(base::Errc::kConflict, "port " + std::to_string(port) +
                                                 " is in use by pid 12 (python3) of user ada");
  }
  [[nodiscard]] base::Result<std::vector<std::string>> own_addresses() const override {
    return addresses;
  }
  [[nodiscard]] base::Result<std::vector<std::string>> look_up(
      const std::string& host) const override {
    const auto found = names.find(host);
    if (found != names.end()) return found->second;
    if (host.find_first_not_of("0123456789abcdef.:") == std::string::npos) return {{host}};
    return base::fail(base::Errc::kNotFound, "cannot look up " + host + ": no such name");
  }
};

class FakeFabric final : public Fabric {
 public:
  std::map<std::string, std::string> files;
  base::Result<std::string> slurm = base::fail(base::Errc::kUnavailable, "no controller");

  [[nodiscard]] base::Result<std::string> read_file(const std::string& path) const override {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return base::fail(base::Errc::kNotFound, "cannot read " + path + ": no such file");
  }
  [[nodiscard]] base::Result<std::string> ask_slurm(const std::string&) const override {
    return slurm;
  }
};

// /job holds train.py; the environment has no variable of robustrun.
struct World {
  FakeMachine machine;
  FakeNetwork network;
  FakeFabric fabric;
  Surroundings around;

  World() {
    machine.files["/job/train.py"] = "";
    machine.files["/opt/rr/share/robustrun/python/robustrun/boot.py"] = "";
    around.executable = "/opt/rr/bin/robustrun";
    around.working_directory = "/job";
    around.host = "node7";
    around.environment = {"PATH=/usr/bin", "HOME=/home/ada"};
    around.uid = 1000;
    around.cpus = 12;
    around.wall_time = std::chrono::seconds(1'785'579'300);  // 2026-08-01 10:15:00 UTC
    around.seed = 42;
    around.machine = &machine;
    around.network = &network;
    around.fabric = &fabric;
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] base::Result<Settings> merge(const std::vector<std::string>& argv) const {
    const auto line = parse_run_line(argv);
    if (!line) return std::unexpected(line.error());
    return merge_settings(*line, around);
  }
};

}  // namespace robustrun::cli::testing
