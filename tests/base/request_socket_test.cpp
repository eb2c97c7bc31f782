#include "base/io/request_socket.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "tests/scratch_folder.h"
#include "tests/support/framed_client.h"

namespace request_socket_test {

using robustrun::base::RequestSocket;
using robustrun::test::framed;
using robustrun::test::FramedClient;
using robustrun::test::Loop;
using robustrun::test::ScratchFolder;

namespace {

constexpr std::size_t kMessageMax = 1000;
constexpr std::size_t kConnectionsMax = 4;

// Answers "re: …" at once; a message that begins with "later", when the test decides.
struct Server {
  ScratchFolder folder;
  std::string path = folder / "s";
  Loop loop;
  std::vector<std::string> heard;
  std::optional<RequestSocket::Reply> waiting;
  int sent = 0;
  std::unique_ptr<RequestSocket> socket;

  explicit Server(std::chrono::milliseconds message_time = std::chrono::seconds(20)) {
    RequestSocket::Handlers handlers;
    handlers.on_message = [this](std::string_view message, RequestSocket::Reply reply) {
      heard.emplace_back(message);
      if (message.starts_with("later")) {
        waiting = std::move(reply);
      } else {
        reply("re: " + std::string(message), [this] { ++sent; });
      }
    };
    handlers.too_long = "too long";
    auto opened = RequestSocket::open(loop.executor(), path,
                                      {kMessageMax, kConnectionsMax, message_time}, handlers);
    REQUIRE_MESSAGE(opened, opened.error().what);
    socket = *std::move(opened);
  }
  FramedClient client() {
    FramedClient made(loop, path);
    REQUIRE(made.connected());
    return made;
  }
  // The server still serves other clients.
  void expect_alive() { CHECK(client().ask("alive?") == "re: alive?"); }
};

// Changes only this thread's effective user: libc would change it for all threads.
void become(uid_t user) { REQUIRE(::syscall(SYS_setresuid, -1, user, -1) == 0); }

}  // namespace

TEST_CASE("each message gets its answer, in order, on one connection") {
  Server server;
  FramedClient client = server.client();
  CHECK(client.ask("one") == "re: one");
  REQUIRE(client.send(framed("two") + framed("") + framed("three")));
  CHECK(client.answer() == "re: two");
  CHECK(client.answer() == "re: ");
  CHECK(client.answer() == "re: three");
  CHECK(client.ask(std::string(kMessageMax, 'x')) == "re: " + std::string(kMessageMax, 'x'));
  CHECK(server.loop.run_until([&] { return server.sent == 5; }));
}

TEST_CASE("a message may come byte by byte") {
  Server server;
  FramedClient client = server.client();
  for (const char byte : framed("slow")) REQUIRE(client.send(std::string(1, byte)));
  CHECK(client.answer() == "re: slow");
}

TEST_CASE("a length over the limit is refused before memory is allocated for it") {
  Server server;
  for (const std::string& length : {std::string("\xe9\x03\0\0", 4), std::string("\0\0\0\x80", 4),
                                    std::string("\xff\xff\xff\xff", 4)}) {
    FramedClient client = server.client();
    REQUIRE(client.send(length));
    CHECK(client.answer() == "too long");
    CHECK(client.is_closed());
  }
  CHECK(server.heard.empty());
  server.expect_alive();
}

TEST_CASE("an incomplete message is never delivered, and its connection is closed after a while") {
  Server server(std::chrono::milliseconds(50));
  for (const std::string& half : {std::string("\x05", 1), std::string("\x05\0\0", 3),
                                  std::string("\x05\0\0\0", 4), std::string("\x05\0\0\0half", 8)}) {
    FramedClient stuck = server.client();
    REQUIRE(stuck.send(half));
    CHECK(stuck.is_closed());
    FramedClient gone = server.client();
    REQUIRE(gone.send(half));
    gone.shut();
  }
  CHECK(server.heard.empty());
  server.expect_alive();
}

TEST_CASE("silence between messages is allowed") {
  Server server(std::chrono::milliseconds(20));
  FramedClient client = server.client();
  CHECK(client.ask("one") == "re: one");
  server.loop.run_for(std::chrono::milliseconds(100));
  CHECK(client.seems_open());
  CHECK(client.ask("two") == "re: two");
}

TEST_CASE("a client that does not take its answer loses the connection") {
  Server server(std::chrono::milliseconds(50));
  FramedClient client = server.client();
  REQUIRE(client.send(framed("later")));
  REQUIRE(server.loop.run_until([&] { return server.waiting.has_value(); }));
  int sent = 0;
  (*server.waiting)(std::string(std::size_t{8} << 20, 'x'), [&] { ++sent; });
  CHECK(server.loop.run_until([&] { return sent == 1; }));
  server.expect_alive();
}

TEST_CASE("one connection too many is closed, and a new one is accepted afterwards") {
  Server server;
  std::vector<FramedClient> clients;
  for (std::size_t i = 0; i < kConnectionsMax; ++i) {
    clients.push_back(server.client());
    CHECK(clients.back().ask("x") == "re: x");
  }
  FramedClient extra = server.client();
  CHECK(extra.is_closed());
  CHECK(clients.front().ask("still there") == "re: still there");
  clients.pop_back();
  CHECK(server.loop.run_until([&] { return server.client().ask("room") == "re: room"; }));
}

TEST_CASE("a late answer to a client that has left is dropped, and reported as sent") {
  Server server;
  FramedClient client = server.client();
  REQUIRE(client.send(framed("later")));
  REQUIRE(server.loop.run_until([&] { return server.waiting.has_value(); }));
  client.shut();
  int sent = 0;
  (*server.waiting)("late", [&] { ++sent; });
  CHECK(server.loop.run_until([&] { return sent == 1; }));
  server.expect_alive();
}

TEST_CASE("after destruction nothing is answered, and the path is gone") {
  Server server;
  FramedClient client = server.client();
  REQUIRE(client.send(framed("later")));
  REQUIRE(server.loop.run_until([&] { return server.waiting.has_value(); }));
  server.socket.reset();
  CHECK_FALSE(std::filesystem::exists(server.path));
  int sent = 0;
  (*server.waiting)("too late", [&] { ++sent; });
  CHECK(client.is_closed());
  CHECK(sent == 1);
}

TEST_CASE("the socket is private to its user, and replaces a stale one") {
  const ScratchFolder folder;
  folder.write("s", "what a dead process left");
  Loop loop;
  const mode_t before = ::umask(0);
  const auto socket = RequestSocket::open(loop.executor(), folder / "s",
                                          {10, 1, std::chrono::seconds(1)}, {nullptr, "", ""});
  ::umask(before);
  REQUIRE(socket);
  struct stat info{};
  REQUIRE(::stat((folder / "s").c_str(), &info) == 0);
  CHECK(S_ISSOCK(info.st_mode));
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("a path that is too long for a socket is refused with advice") {
  Loop loop;
  const auto socket = RequestSocket::open(loop.executor(), "/tmp/" + std::string(120, 'x'),
                                          {10, 1, std::chrono::seconds(1)}, {nullptr, "", ""});
  REQUIRE_FALSE(socket);
  CHECK(socket.error().what.find("XDG_RUNTIME_DIR") != std::string::npos);
}

TEST_CASE("another user's process is refused by its credentials, even past the file's mode") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can become another user");
    return;
  }
  Server server;
  REQUIRE(::chmod(server.folder.path().c_str(), 0711) == 0);
  become(65534);
  FramedClient kept_out(server.loop, server.path);
  become(0);
  CHECK_FALSE(kept_out.connected());
  REQUIRE(::chmod(server.path.c_str(), 0666) == 0);
  become(65534);
  FramedClient stranger(server.loop, server.path);
  become(0);
  REQUIRE(stranger.connected());
  static_cast<void>(stranger.send(framed("let me in")));
  CHECK(stranger.is_closed());
  CHECK(server.heard.empty());
  server.expect_alive();
}

}  // namespace request_socket_test
