#include "supervisor/control/server.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <random>

#include "base/core/text.h"
#include "supervisor/control/client.h"
#include "supervisor/control/file.h"
#include "supervisor/limits.h"
#include "tests/scratch_folder.h"
#include "tests/support/framed_client.h"

namespace robustrun::supervisor::control_server_test {
namespace {

using base::Errc;
using robustrun::test::framed;
using robustrun::test::FramedClient;

// Knows "echo", and "wait", which never answers.
struct Fixture {
  robustrun::test::ScratchFolder run;
  robustrun::test::ScratchFolder runtime;
  robustrun::test::Loop loop;
  std::vector<ControlServer::Reply> waiting;
  std::unique_ptr<ControlServer> server;

  Fixture() {
    auto opened = ControlServer::open(
        loop.executor(), {run.path(), "brave otter/4711", {"XDG_RUNTIME_DIR=" + runtime.path()}},
        {{"echo",
          [](const ControlFields& fields, ControlServer::Reply reply) {
            ControlFields answer = fields;
            answer["type"] = "echo";
            reply(write_control_message(answer), nullptr);
          }},
         {"wait", [this](const ControlFields&, ControlServer::Reply reply) {
            waiting.push_back(std::move(reply));
          }}});
    REQUIRE_MESSAGE(opened, opened.error().what);
    server = *std::move(opened);
  }
  [[nodiscard]] std::string socket() const {
    const auto text = base::read_file(control_file(run.path()), 4096);
    REQUIRE(text);
    const auto file = parse_control_file(*text);
    REQUIRE(file);
    return file->socket;
  }
  FramedClient client() {
    FramedClient made(loop, socket());
    REQUIRE(made.connected());
    return made;
  }
  // A blocking client on a thread of its own, the server's loop here.
  template <class Work>
  auto beside(Work work) {
    auto done = std::async(std::launch::async, std::move(work));
    REQUIRE(loop.run_until(
        [&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return done.get();
  }
  void expect_alive() {
    CHECK(client().ask(R"({"command":"echo"})") == R"({"command":"echo","type":"echo"})");
  }
};

bool is_refusal(const std::string& answer) {
  const auto fields = read_control_message(answer);
  return fields && fields->contains("message") && fields->at("type") == "error" &&
         answer.size() < 1024;
}

// A socket that no process listens on any more, or one whose listener is returned.
base::Fd make_socket(const std::string& path, bool listens) {
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  if (!listens) return {};
  REQUIRE(::listen(fd.get(), 1) == 0);
  return fd;
}

TEST_CASE("a new server removes the sockets of dead ones, and nothing else") {
  namespace fs = std::filesystem;
  Fixture fixture;
  const fs::path base = fs::path(fixture.socket()).parent_path();
  REQUIRE(base == fs::path(fixture.runtime.path()) / "robustrun");
  fixture.server.reset();
  make_socket(base / "dead", false);
  make_socket(base / "young", false);
  const base::Fd live = make_socket(base / "live", true);
  std::ofstream(base / "file") << "kept";
  make_socket(base / "target", false);
  fs::create_symlink("target", base / "link");
  const auto old = fs::file_time_type::clock::now() - 2 * kControlSocketYoung;
  for (const char* name : {"dead", "live", "file"}) fs::last_write_time(base / name, old);
  const auto opened = ControlServer::open(
      fixture.loop.executor(),
      {fixture.run.path(), "new", {"XDG_RUNTIME_DIR=" + fixture.runtime.path()}}, {});
  REQUIRE_MESSAGE(opened, opened.error().what);
  CHECK_FALSE(fs::exists(fs::symlink_status(base / "dead")));
  for (const char* name : {"young", "live", "file", "target", "link"}) {
    CAPTURE(name);
    CHECK(fs::exists(fs::symlink_status(base / name)));
  }
}

TEST_CASE("a client finds the server through the run's folder, and is answered") {
  Fixture f;
  const auto answer = f.beside([&] {
    auto client = ControlClient::connect(f.run.path());
    REQUIRE(client);
    return client->ask({{"command", "echo"}, {"x", "caf\xc3\xa9 \"\n"}});
  });
  REQUIRE(answer);
  CHECK(answer->at("x") == "caf\xc3\xa9 \"\n");
}

TEST_CASE("socket and file are for their user alone, and go away") {
  Fixture f;
  struct stat info{};
  REQUIRE(::stat(f.socket().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  REQUIRE(::stat(control_file(f.run.path()).c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const std::string socket = f.socket();
  f.server.reset();
  CHECK_FALSE(std::filesystem::exists(socket));
  CHECK_FALSE(std::filesystem::exists(control_file(f.run.path())));
}

TEST_CASE("garbage gets a short refusal, and the connection goes on") {
  Fixture f;
  FramedClient client = f.client();
  const std::string garbage[] = {
      std::string(),
      std::string("x"),
      std::string("[]"),
      std::string("null"),
      std::string("7"),
      std::string("{"),
      std::string("{}"),
      std::string(R"({"command":7})"),
      std::string(R"({"command":["echo"]})"),
      std::string(R"({"command":"no such"})"),
      std::string("\xff\xfe{}"),
      std::string("{\"command\":\"\xc3\"}"),
      std::string(60'000, '['),
      "{\"a\":" + std::string(30'000, '[') + std::string(30'000, ']') + "}",
      "{\"command\":\"" + std::string(60'000, 'x') + "\"}",
      R"({"command":")" + std::string(30, '\xc3') + R"("})",
      R"({"command":"aaaaaaaaaaaaaaaaaaaaaaa)"
      "\xc3\xa9"
      R"("})"};
  for (const std::string& bytes : garbage) {
    CAPTURE(bytes.substr(0, 60));
    CHECK(is_refusal(client.ask(bytes)));
  }
  CHECK(client.ask(R"({"command":"echo","n":1})") == R"({"command":"echo","type":"echo"})");
}

TEST_CASE("random bytes never end the server") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Fixture f;
  for (int round = 0; round < 200; ++round) {
    FramedClient client = f.client();
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (round % 2 == 0) {
      CHECK(is_refusal(client.ask(bytes)));
    } else {
      client.send(bytes);  // no length, one that is too long, or one that never ends
    }
  }
  CHECK(f.loop.run_until([&] { return f.client().ask(R"({"command":"echo"})") != ""; }));
}

TEST_CASE("a message over the limit is refused, and costs the connection") {
  Fixture f;
  FramedClient client = f.client();
  CHECK(is_refusal(client.ask(std::string(kControlMessageBytesMax + 1, ' '))));
  CHECK(client.is_closed());
  std::string longest = R"({"command":"echo","pad":")";
  longest += std::string(kControlMessageBytesMax - longest.size() - 2, 'x') + "\"}";
  FramedClient other = f.client();
  CHECK(other.ask(longest).size() > longest.size());
  f.expect_alive();
}

TEST_CASE("so many are served at a time; one more is told so and sent away; room comes back") {
  Fixture f;
  std::vector<FramedClient> clients;
  for (std::size_t i = 0; i < kControlConnectionsMax; ++i) {
    clients.push_back(f.client());
    CHECK_FALSE(clients.back().ask(R"({"command":"echo"})").empty());
  }
  FramedClient late = f.client();
  CHECK(late.answer().find("is busy: 64 programs keep a connection to it") != std::string::npos);
  CHECK(late.is_closed());
  const auto asked = f.beside([&] {
    auto client = ControlClient::connect(f.run.path());
    return client ? client->ask({{"command", "echo"}})
                  : base::Result<ControlFields>(std::unexpected(client.error()));
  });
  REQUIRE_FALSE(asked);
  CHECK(asked.error().what.starts_with("the run's supervisor is busy"));
  clients.clear();
  CHECK(f.loop.run_until([&] {
    return f.client().ask(R"({"command":"echo"})") == R"({"command":"echo","type":"echo"})";
  }));
}

TEST_CASE("a supervisor removes the sockets of dead ones, and leaves those of others") {
  Fixture f;
  const std::string base = std::filesystem::path(f.socket()).parent_path();
  const auto leave_socket = [&](const std::string& name, bool is_old) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = base + "/" + name;
    std::memcpy(address.sun_path, path.data(), path.size());
    const base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const timespec then[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    if (is_old) REQUIRE(::utimensat(AT_FDCWD, path.c_str(), then, 0) == 0);
    return path;
  };
  const std::string dead = leave_socket("dead.00000001", true);
  const std::string young = leave_socket("young.00000002", false);
  const timespec then[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, f.socket().c_str(), then, 0) == 0);
  std::filesystem::create_directory(base + "/folder");
  const robustrun::test::ScratchFolder run;
  const auto other = ControlServer::open(
      f.loop.executor(), {run.path(), "other", {"XDG_RUNTIME_DIR=" + f.runtime.path()}}, {});
  REQUIRE(other);
  CHECK_FALSE(std::filesystem::exists(dead));
  CHECK(std::filesystem::exists(young));
  CHECK(std::filesystem::exists(base + "/folder"));
  f.expect_alive();
}

TEST_CASE("a request that waits for its answer delays no other") {
  Fixture f;
  FramedClient patient = f.client();
  REQUIRE(patient.send(framed(R"({"command":"wait"})")));
  REQUIRE(f.loop.run_until([&] { return f.waiting.size() == 1; }));
  f.expect_alive();
  f.waiting[0](control_refusal("no"), nullptr);
  CHECK(is_refusal(patient.answer()));
}

TEST_CASE("a client is told when the supervisor ends in the middle of its question") {
  Fixture f;
  auto asked = std::async(std::launch::async, [&] {
    auto client = ControlClient::connect(f.run.path());
    REQUIRE(client);
    return client->ask({{"command", "wait"}});
  });
  REQUIRE(f.loop.run_until([&] { return f.waiting.size() == 1; }));
  f.server.reset();
  const auto answer = asked.get();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::kUnavailable);
}

TEST_CASE("a wait ends with its time, or with the supervisor") {
  Fixture f;
  auto client = f.beside([&] { return ControlClient::connect(f.run.path()); });
  REQUIRE(client);
  CHECK(client->wait(std::chrono::milliseconds(5)));
  CHECK(f.beside([&] { return client->ask({{"command", "echo"}}); }));
  f.server.reset();
  CHECK_FALSE(client->wait(std::chrono::seconds(20)));
  CHECK(client->ask({{"command", "echo"}}).error().code == Errc::kUnavailable);
}

TEST_CASE("a refusal comes back in its words") {
  Fixture f;
  const auto answer =
      f.beside([&] { return ControlClient::connect(f.run.path())->ask({{"command", "explode"}}); });
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::kInvalidArgument);
  CHECK(answer.error().what.find("explode") != std::string::npos);
}

TEST_CASE("a run that is over is not found, whatever its folder says") {
  const robustrun::test::ScratchFolder run;
  const auto reason = [&] {
    const auto client = ControlClient::connect(run.path());
    REQUIRE_FALSE(client);
    CHECK(client.error().code == Errc::kNotFound);
    return client.error().what;
  };
  CHECK(reason().find("no file 'control'") != std::string::npos);
  run.write("control", "\n");
  CHECK(reason().find("names no socket") != std::string::npos);
  run.write("control", std::string(sizeof(sockaddr_un::sun_path), 'x'));
  reason();
  run.write("control", std::string(1 << 20, 'x'));
  reason();
  run.write("control", (run / "nobody") + "\n");
  CHECK(reason().find("no process listens") != std::string::npos);
  run.write("control", write_control_file({run / "nobody", this_host(), 2'147'483'647}));
  CHECK(reason().find("its supervisor, pid 2147483647, was killed; `robustrun resume ") !=
        std::string::npos);
  // As another machine that shares the folder would see it.
  run.write("control", write_control_file({run / "nobody", "node\x1b[2J9", 4711}));
  CHECK(reason().find("it runs on node\\x1b[2J9 (pid 4711), or did") != std::string::npos);
}

TEST_CASE("the socket's path is short and harmless whatever the run is called") {
  for (const std::string& name : {std::string(), std::string("brave-otter"),
                                  std::string("../../etc/x\n"), std::string(5000, 'x')}) {
    const std::string path = control_socket_path("/run/user/1000/robustrun", "/runs/" + name, name);
    CHECK(path.size() < 80);
    CHECK(std::filesystem::path(path).parent_path() == "/run/user/1000/robustrun");
    CHECK(path.find('\n') == std::string::npos);
  }
  CHECK(control_socket_path("/b", "/one", "same") != control_socket_path("/b", "/two", "same"));
}

TEST_CASE("without a private place nothing is opened") {
  robustrun::test::ScratchFolder run;
  robustrun::test::ScratchFolder runtime;
  REQUIRE(::mkdir((runtime / "robustrun").c_str(), 0755) == 0);
  robustrun::test::Loop loop;
  const auto opened = ControlServer::open(
      loop.executor(), {run.path(), "x", {"XDG_RUNTIME_DIR=" + runtime.path()}}, {});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Errc::kPermission);
  CHECK_FALSE(std::filesystem::exists(control_file(run.path())));
}

}  // namespace
}  // namespace robustrun::supervisor::control_server_test
