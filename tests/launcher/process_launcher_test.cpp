// Several fake agents on this machine: real processes, which leave others behind.

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>

#include "launcher/process_launcher.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::test::process_launcher_test {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool is_gone(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  return stat.empty() || stat[stat.rfind(')') + 2] == 'Z';
}

struct Rig {
  struct Agent {
    std::optional<launcher::AgentEnd> end;
  };

  // The stand-in leaves a child in a session of its own and waits for the end of its input.
  Rig() {
    const std::string script = folder.write("robustrun",
                                            "#!/bin/sh\n"
                                            "read -r name\n"
                                            "out=" +
                                                folder.path() +
                                                "/$name\n"
                                                "setsid sleep 600 &\n"
                                                "echo $! > $out.child\n"
                                                "echo \"$@\" > $out.argv\n"
                                                "echo $$ > $out.new; mv $out.new $out.pid\n"
                                                "case $name in exit*) exit 9 ;; esac\n"
                                                "exec cat\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    launcher = launcher::make_process_launcher(loop.executor(), script);
  }
  ~Rig() {
    launcher->kill_all();
    CHECK(loop.run_until([this] { return launcher->idle(); }));
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  std::shared_ptr<Agent> launch(std::uint32_t node, const std::string& name,
                                std::uint32_t generation = 0) {
    auto agent = std::make_shared<Agent>();
    launcher->launch({base::NodeId{node}, base::Generation{generation}, name + "\n"},
                     {.on_channel = nullptr,
                      .on_lost = [agent](const launcher::AgentEnd& end) { agent->end = end; }});
    return agent;
  }
  [[nodiscard]] bool started(const std::string& name) const {
    return std::filesystem::exists(folder / (name + ".pid"));
  }
  [[nodiscard]] pid_t pid(const std::string& name, const std::string& what = ".pid") const {
    return std::atoi(read_text(folder / (name + what)).c_str());
  }

  ScratchFolder folder;
  Loop loop;
  std::unique_ptr<launcher::AgentLauncher> launcher;
};

TEST_CASE("agents on this machine get their credentials on standard input") {
  Rig rig;
  const auto first = rig.launch(0, "first");
  const auto second = rig.launch(1, "second");
  REQUIRE(rig.loop.run_until([&] { return rig.started("first") && rig.started("second"); }));
  CHECK(read_text(rig.folder / "first.argv") == "agent --stdin-credential\n");
  CHECK(!rig.launcher->idle());
}

TEST_CASE("a killed agent's leftovers are dead before its end is reported; other agents live on") {
  Rig rig;
  const auto first = rig.launch(0, "first");
  const auto second = rig.launch(1, "second");
  REQUIRE(rig.loop.run_until([&] { return rig.started("first") && rig.started("second"); }));
  ::kill(rig.pid("first"), SIGKILL);
  REQUIRE(rig.loop.run_until([&] { return first->end.has_value(); }));
  CHECK(first->end->why.find("SIGKILL") != std::string::npos);
  CHECK(first->end->node_answers);
  CHECK(is_gone(rig.pid("first", ".child")));
  CHECK(!is_gone(rig.pid("second")));
  CHECK(!is_gone(rig.pid("second", ".child")));
  CHECK(!second->end);
}

TEST_CASE("an agent that ends by itself is reported with its code") {
  Rig rig;
  const auto agent = rig.launch(0, "exits");
  REQUIRE(rig.loop.run_until([&] { return agent->end.has_value(); }));
  CHECK(agent->end->why.find("exit code 9") != std::string::npos);
  CHECK(rig.launcher->idle());
}

TEST_CASE("on this machine a new generation starts once the old one is gone") {
  Rig rig;
  const auto old_agent = rig.launch(0, "old");
  REQUIRE(rig.loop.run_until([&] { return rig.started("old"); }));
  const auto new_agent = rig.launch(0, "new", 1);
  REQUIRE(rig.loop.run_until([&] { return rig.started("new"); }));
  CHECK(is_gone(rig.pid("old")));
  CHECK(is_gone(rig.pid("old", ".child")));
  CHECK(!old_agent->end);
}

TEST_CASE("a program that cannot be started is reported as an agent's end") {
  Loop loop;
  auto launcher = launcher::make_process_launcher(loop.executor(), "/no/such/program");
  std::optional<launcher::AgentEnd> end;
  launcher->launch(
      {base::NodeId{0}, base::Generation{0}, "credential\n"},
      {.on_channel = nullptr, .on_lost = [&](const launcher::AgentEnd& told) { end = told; }});
  REQUIRE(loop.run_until([&] { return end.has_value(); }));
  CHECK(end->why.find("/no/such/program") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::test::process_launcher_test
