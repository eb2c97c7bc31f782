#pragma once
// The test's own real sshd on loopback, and a launcher that starts fake agents over it. Keys,
// configuration and remote homes are in a scratch folder; everything is ended by pid.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io/blocking_pool.h"
#include "base/io/child.h"
#include "base/io/fd.h"
#include "launcher/ssh/launcher.h"
#include "tests/launcher/ssh_tools.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::test {

struct SshRigOptions {
  std::string server_config = "MaxStartups 512\n";
  std::string client_config = {};                // before the defaults
  std::string user_key_type = "ed25519";
  std::string host_key_type = "ed25519";
  bool install = true;  // the hosts have the fake agent at the launcher's own path
};

class SshRig {
 public:
  using Transport = launcher::SshTransport;

  explicit SshRig(Transport transport, const SshRigOptions& rig = {}) {
    make_key("host_key", rig.host_key_type);
    make_key("user_key", rig.user_key_type);
    make_program("here/bin/robustrun", stand_in_script(folder.path()));
    if (!rig.install) folder.write("not-installed", "");
    options.transport = transport;
    options.executable = folder / "here/bin/robustrun";
    options.home = folder / "client";
    options.ssh_command = {
        "ssh", "-F",
        folder.write("client_config", client_config(folder.path(), rig.client_config))};
    trust("127.0.*.*", "host_key");
    start_server(rig);
  }
  ~SshRig() {
    launcher.reset();
    end_those_who_stay();
    for (auto& [name, child] : children_) static_cast<void>(child->signal(SIGKILL));
    CHECK(loop.run_until([this] { return running_ == 0; }));
  }
  SshRig(const SshRig&) = delete;
  SshRig& operator=(const SshRig&) = delete;

  // -- changes before the first launch

  void make_key(const std::string& name, const std::string& type) const {
    std::vector<std::string> argv = {"ssh-keygen", "-q", "-t", type, "-N",
                                     "",           "-C", name, "-f", folder / name};
    if (type == "rsa") argv.insert(argv.end(), {"-b", "2048"});
    run(argv);
  }
  // Makes the key `name` the known one of these hosts.
  void trust(const std::string& pattern, const std::string& name) const {
    std::ofstream(folder / "known_hosts", std::ios::app)
        << "[" << pattern << "]:" << port << " " << public_key(name) << "\n";
  }
  void trust_nobody() const { std::ofstream(folder / "known_hosts", std::ios::trunc); }
  [[nodiscard]] std::string public_key(const std::string& name) const {
    const std::string line = read_text(folder / (name + ".pub"));
    return line.substr(0, line.find(' ', line.find(' ') + 1));
  }

  // Inserts at the front: the first value of an option counts.
  void prefer_in_client_config(const std::string& text) const {
    const std::string old = read_text(folder / "client_config");
    folder.write("client_config", text + old);
  }

  // -- running

  struct Agent {
    std::optional<launcher::AgentEnd> end;
  };

  void make_launcher(std::size_t hosts = 1, std::uint16_t at_port = 0) {
    std::vector<launcher::Host> list;
    for (std::size_t i = 0; i < hosts; ++i) {
      list.push_back({.name = address(i), .user = {}, .port = at_port == 0 ? port : at_port});
    }
    launcher = launcher::make_ssh_launcher(loop.executor(), pool, list, options);
  }
  static std::string address(std::size_t host) { return "127.0.1." + std::to_string(host + 1); }

  // `orders`, the credential, tells the fake agent what to do: "wait", "exit 7", "other build".
  std::shared_ptr<Agent> launch(const std::string& orders, std::uint32_t node = 0,
                                std::uint32_t generation = 0) {
    if (launcher == nullptr) make_launcher();
    auto agent = std::make_shared<Agent>();
    launcher->launch(
        {base::NodeId{node}, base::Generation{generation}, "secret-credential " + orders + "\n"},
        {.on_channel = nullptr, .on_lost = [agent](const launcher::AgentEnd& end) {
           CHECK(!agent->end);
           agent->end = end;
         }});
    return agent;
  }
  // The fake agent on that node has read its credential.
  [[nodiscard]] bool started(std::uint32_t node = 0) const {
    return std::filesystem::exists(out(node, "credential"));
  }
  [[nodiscard]] std::string out(std::uint32_t node, const std::string& file) const {
    return folder / ("out/" + address(node) + "/" + file);
  }
  [[nodiscard]] std::string remote_home(std::uint32_t node = 0) const {
    return folder / ("home/" + address(node));
  }
  [[nodiscard]] pid_t remote_pid(std::uint32_t node = 0) const {
    return std::atoi(read_text(out(node, "pid")).c_str());
  }
  // Number of remote commands that contained `piece`.
  [[nodiscard]] std::size_t commands_with(const std::string& piece) const {
    return count_of(piece, read_text(folder / "commands"));
  }
  [[nodiscard]] bool wait(const std::function<bool()>& until) { return loop.run_until(until); }

  // Starts another program that the test needs; ended with the rig.
  void start(const std::string& name, std::vector<std::string> argv) {
    argv.front() = tool(argv.front());
    const base::Fd log(::open((folder / (name + ".log")).c_str(),
                              O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
    auto started = base::Child::spawn(
        loop.executor(),
        {argv.front(), argv, launcher::own_environment(), {-1, log.get(), log.get()}},
        [this](base::ExitStatus) { --running_; });
    REQUIRE(started.has_value());
    ++running_;
    children_[name] = *std::move(started);
  }
  [[nodiscard]] bool signal(const std::string& name, int number) {
    return children_.at(name)->signal(number).has_value();
  }
  // Ends a program of start(), and waits for its end.
  void end(const std::string& name) {
    const int before = running_;
    CHECK(children_.at(name)->signal(SIGKILL).has_value());
    CHECK(loop.run_until([&] { return running_ < before; }));
    children_.erase(name);
  }

  ScratchFolder folder;
  Loop loop;
  HeldPort held_port;
  std::uint16_t port = held_port.port;
  base::BlockingPool pool{loop.executor(), 4, 256};
  launcher::SshOptions options;
  std::unique_ptr<launcher::AgentLauncher> launcher;

 private:
  void end_those_who_stay() const {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "out", none)) {
      const std::string pid = read_text(entry.path() / "pid");
      const std::string command = read_text("/proc/" + pid.substr(0, pid.find('\n')) + "/cmdline");
      if (command.starts_with("sleep")) ::kill(std::atoi(pid.c_str()), SIGKILL);
    }
  }

  void make_program(const std::string& name, const std::string& text) const {
    std::filesystem::permissions(folder.write(name, text), std::filesystem::perms::owner_all);
  }

  void start_server(const SshRigOptions& rig) {
    // Root's sshd needs it; Debian creates it when its service starts.
    if (::geteuid() == 0) ::mkdir("/run/sshd", 0755);
    make_program("wrapper", wrapper_script(folder.path()));
    std::filesystem::copy_file(folder / "user_key.pub", folder / "authorized_keys");
    const std::string config =
        folder.write("sshd_config", server_config(folder.path()) + rig.server_config);
    start("sshd", {"sshd", "-D", "-e", "-f", config, "-p", std::to_string(port)});
    REQUIRE(loop.run_until([this] {
      return read_text(folder / "sshd.log").find("listening on") != std::string::npos;
    }));
  }

  std::map<std::string, std::unique_ptr<base::Child>> children_;
  int running_ = 0;
};

}  // namespace robustrun::test
