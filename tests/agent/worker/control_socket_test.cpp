#include "agent/worker/control_socket.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstring>

#include "agent/node/limits.h"
#include "base/core/clock.h"
#include "base/io/fd.h"
#include "tests/scratch_folder.h"

namespace control_socket_test {

using namespace robustrun;
using agent::answer_control_message;
using agent::ControlSocket;
using agent::ControlState;

namespace {

constexpr auto kDeadline = std::chrono::seconds(60);

ControlState state() {
  return {"job-1", base::Rank{3}, base::Attempt{2}, wire::StopReason::kNone, base::Nanos{}};
}

std::string frame(const std::string& body) {
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string out(4, '\0');
  std::memcpy(out.data(), &size, 4);
  return out + body;
}

struct Fixture {
  test::ScratchFolder folder;
  std::string path = folder / "3.sock";
  boost::asio::io_context loop;
  std::unique_ptr<ControlSocket> socket;
  std::vector<wire::CheckpointNote> notes;

  Fixture() {
    auto opened =
        ControlSocket::open(loop.get_executor(), path, state(),
                            [this](wire::CheckpointNote n) { notes.push_back(std::move(n)); });
    REQUIRE_MESSAGE(opened, opened.error().what);
    socket = *std::move(opened);
  }
  // Runs the loop until `done`; false at the deadline.
  bool run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.run_one_for(std::chrono::milliseconds(50));
    }
    return true;
  }
};

// A worker's end: never blocks; the fixture's loop runs meanwhile.
struct Client {
  Fixture& fixture;
  base::Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  std::string received;
  bool closed = false;

  explicit Client(Fixture& f) : fixture(f) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, f.path.c_str());
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  void send(const std::string& bytes) {
    std::size_t sent = 0;
    REQUIRE(fixture.run_until([&] {
      const ssize_t n = ::send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n > 0) sent += static_cast<std::size_t>(n);
      return sent == bytes.size() || (n < 0 && errno != EAGAIN);
    }));
  }
  void receive() {
    char buffer[4096];
    const ssize_t n = ::recv(fd.get(), buffer, sizeof buffer, 0);
    if (n > 0) received.append(buffer, static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EAGAIN)) closed = true;
  }
  // The body of the next reply; "" when the connection was closed instead.
  std::string reply() {
    std::uint32_t size = 0;
    REQUIRE(fixture.run_until([&] {
      receive();
      if (received.size() >= 4) std::memcpy(&size, received.data(), 4);
      return closed || (received.size() >= 4 && received.size() >= 4 + size);
    }));
    if (received.size() < 4 + size || received.size() < 4) return {};
    const std::string body = received.substr(4, size);
    received.erase(0, 4 + size);
    return body;
  }
  std::string ask(const std::string& body) {
    send(frame(body));
    return reply();
  }
  bool is_closed() {
    return fixture.run_until([this] {
      receive();
      return closed;
    });
  }
};

}  // namespace

TEST_CASE("each message has its answer") {
  ControlState s = state();
  CHECK(answer_control_message(R"({"type":"hello","version":1})", s) ==
        R"({"attempt":2,"rank":3,"run_id":"job-1","type":"hello","version":1})");
  CHECK(answer_control_message(R"({"type":"hello","version":9,"more":[1]})", s)
            .find("\"version\":1") != std::string::npos);
  CHECK(answer_control_message(R"({"type":"ping"})", s) == R"({"type":"ping"})");
  CHECK(answer_control_message(R"({"type":"stop_reason"})", s) ==
        R"({"deadline_ns":0,"reason":"none","type":"stop_reason"})");
  const std::pair<wire::StopReason, const char*> reasons[] = {
      {wire::StopReason::kRestart, "restart"},
      {wire::StopReason::kPreempt, "preempt"},
      {wire::StopReason::kStop, "stop"}};
  for (const auto& [reason, name] : reasons) {
    s.stop_reason = reason;
    s.stop_deadline = base::Nanos(77);
    CHECK(answer_control_message(R"({"type":"stop_reason"})", s) ==
          std::string(R"({"deadline_ns":77,"reason":")") + name + R"(","type":"stop_reason"})");
  }
}

TEST_CASE("a worker's message about a checkpoint is kept") {
  ControlState s = state();
  CHECK(answer_control_message(
            R"({"type":"checkpoint","event":"loaded","step":1000,"generation":7,"token":"3f9c",)"
            R"("directories":["/a","/b"],"bytes":4096,"blocking_ns":5,"total_ns":9,)"
            R"("source":"memory"})",
            s) == R"({"type":"checkpoint"})");
  REQUIRE(s.notes.size() == 1);
  const wire::CheckpointNote& note = s.notes[0];
  CHECK(note.attempt == base::Attempt{2});
  CHECK(note.event == wire::CheckpointNote::Event::kLoaded);
  CHECK(note.step == 1000);
  CHECK(note.generation == 7);
  CHECK(note.token == "3f9c");
  CHECK(note.directories == std::vector<std::string>{"/a", "/b"});
  CHECK(note.bytes == 4096);
  CHECK(note.blocking == base::Nanos(5));
  CHECK(note.total == base::Nanos(9));
  CHECK(note.source == "memory");
  CHECK(answer_control_message(R"({"type":"checkpoint","event":"saved","step":0})", s) ==
        R"({"type":"checkpoint"})");
  CHECK(s.notes.size() == 2);
}

TEST_CASE("nonsense about a checkpoint is refused and not kept") {
  ControlState s = state();
  std::string many = R"({"type":"checkpoint","event":"saved","step":1,"directories":[)";
  for (int i = 0; i < 17; ++i) many += i == 0 ? "\"/a\"" : ",\"/a\"";
  for (const std::string& request :
       {std::string(R"({"type":"checkpoint"})"),
        std::string(R"({"type":"checkpoint","event":"eaten","step":1})"),
        std::string(R"({"type":"checkpoint","event":"saved","step":-1})"),
        std::string(R"({"type":"checkpoint","event":"saved","step":"1"})"),
        std::string(R"({"type":"checkpoint","event":"saved","step":1,"token":"../x"})"),
        std::string(R"({"type":"checkpoint","event":"saved","step":1,"source":"a b"})"),
        std::string(R"({"type":"checkpoint","event":"saved","step":1,"directories":["a"]})"),
        std::string(R"({"type":"checkpoint","event":"saved","step":1,"directories":"/a"})"),
        std::string(R"({"type":"checkpoint","event":"saved","step":1,"directories":[7]})"),
        many + "]}"}) {
    CAPTURE(request.substr(0, 80));
    CHECK(answer_control_message(request, s).find(R"("type":"error")") != std::string::npos);
    CHECK(s.notes.empty());
  }
  const std::string odd =
      R"({"type":"checkpoint","event":"saved","step":1,"blocking_ns":18446744073709551615})";
  CHECK(answer_control_message(odd, s) == R"({"type":"checkpoint"})");
  CHECK(s.notes.at(0).blocking == base::Nanos{});
}

TEST_CASE("a worker may announce that it saves by itself before a stop, and take it back") {
  ControlState s = state();
  CHECK_FALSE(s.saves_on_stop);
  CHECK(answer_control_message(R"({"type":"save_on_stop"})", s) == R"({"type":"save_on_stop"})");
  CHECK(s.saves_on_stop);
  answer_control_message(R"({"type":"save_on_stop","enabled":false})", s);
  CHECK_FALSE(s.saves_on_stop);
}

TEST_CASE("anything but a message gets an error that stays small") {
  ControlState s = state();
  const std::string huge(agent::kControlMessageBytesMax - 20, '\x01');
  for (const std::string& request :
       {std::string(), std::string("x"), std::string("[]"), std::string("{}"), std::string("null"),
        std::string(R"({"type":7})"), std::string(R"({"type":"bogus"})"),
        std::string(R"({"type":"hello"})"), std::string(R"({"type":"hello","version":0})"),
        std::string(R"({"type":"hello","version":"1"})"), std::string("\xff\xfe"),
        std::string(60'000, '['), "{\"type\":\"" + std::string(60'000, 'x') + "\"}", huge}) {
    CAPTURE(request.substr(0, 40));
    const std::string reply = answer_control_message(request, s);
    CHECK(reply.find(R"("type":"error")") != std::string::npos);
    CHECK(reply.size() < 1024);
  }
}

TEST_CASE("a run id that is not UTF-8 still gives valid replies") {
  ControlState s = state();
  s.run_id = "caf\xe9\"";
  CHECK(answer_control_message(R"({"type":"hello","version":1})", s).find("caf\xef\xbf\xbd\\\"") !=
        std::string::npos);
}

TEST_CASE("the socket is private and a worker may talk for as long as it likes") {
  Fixture f;
  struct stat found{};
  REQUIRE(::stat(f.path.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  Client client(f);
  CHECK(client.ask(R"({"type":"hello","version":1})").find("job-1") != std::string::npos);
  CHECK(client.ask(R"({"type":"ping"})") == R"({"type":"ping"})");
  CHECK(client.ask("nonsense").find("error") != std::string::npos);
  CHECK(client.ask(R"({"type":"ping"})") == R"({"type":"ping"})");
  f.socket->set_stop(wire::StopReason::kPreempt, base::Nanos(5));
  CHECK(client.ask(R"({"type":"stop_reason"})") ==
        R"({"deadline_ns":5,"reason":"preempt","type":"stop_reason"})");
}

TEST_CASE("messages that come in pieces, or many at once, are answered in order") {
  Fixture f;
  Client client(f);
  const std::string ping = frame(R"({"type":"ping"})");
  for (const char byte : ping) client.send(std::string(1, byte));
  CHECK(client.reply() == R"({"type":"ping"})");
  client.send(ping + frame("x") + ping);
  CHECK(client.reply() == R"({"type":"ping"})");
  CHECK(client.reply().find("error") != std::string::npos);
  CHECK(client.reply() == R"({"type":"ping"})");
}

TEST_CASE("a message beyond the limit is refused and its connection closed") {
  Fixture f;
  Client client(f);
  std::string too_large = frame("");
  too_large[3] = '\x7f';
  client.send(too_large);
  CHECK(client.reply().find("at most 65536 bytes") != std::string::npos);
  CHECK(client.is_closed());
  Client next(f);
  CHECK(next.ask(std::string(agent::kControlMessageBytesMax, ' ')).find("error") !=
        std::string::npos);
}

TEST_CASE("several connections are served side by side up to the limit, and again after a close") {
  Fixture f;
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < agent::kControlConnectionsMax; ++i) {
    clients.push_back(std::make_unique<Client>(f));
    CHECK(clients.back()->ask(R"({"type":"ping"})") == R"({"type":"ping"})");
  }
  Client refused(f);
  CHECK(refused.is_closed());
  clients.pop_back();
  REQUIRE(f.run_until([&f] {
    Client client(f);
    return client.ask(R"({"type":"ping"})") == R"({"type":"ping"})";
  }));
}

TEST_CASE("the end of the socket ends its connections and removes the file") {
  Fixture f;
  Client client(f);
  CHECK(client.ask(R"({"type":"ping"})") == R"({"type":"ping"})");
  f.socket.reset();
  CHECK(::access(f.path.c_str(), F_OK) != 0);
  CHECK(client.is_closed());
  f.loop.restart();
  f.loop.run();  // nothing is left to wait for
}

TEST_CASE("a stale socket is replaced; a path that is too long is an error with advice") {
  Fixture f;
  CHECK(ControlSocket::open(f.loop.get_executor(), f.path, state(), {}));
  const auto opened =
      ControlSocket::open(f.loop.get_executor(), "/tmp/" + std::string(120, 'x'), state(), {});
  REQUIRE(!opened);
  CHECK(opened.error().code == base::Errc::kInvalidArgument);
  CHECK(opened.error().what.find("XDG_RUNTIME_DIR") != std::string::npos);
}

TEST_CASE("descriptors of the socket are closed in children") {
  Fixture f;
  Client client(f);
  CHECK(client.ask(R"({"type":"ping"})") == R"({"type":"ping"})");
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(entry.path(), error).string();
    if (error || !target.starts_with("socket:")) continue;
    CHECK((::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("a worker that may not load yet is answered later, and other questions meanwhile") {
  Fixture f;
  f.socket.reset();
  std::vector<std::function<void()>> waiting;
  auto opened = ControlSocket::open(
      f.loop.get_executor(), f.path, state(), [](const wire::CheckpointNote&) {}, {},
      [&](std::function<void()> go) { waiting.push_back(std::move(go)); });
  REQUIRE(opened);
  f.socket = *std::move(opened);
  Client one(f), other(f), gone(f);
  one.send(frame(R"({"type":"await_saves"})"));
  gone.send(frame(R"({"type":"await_saves"})"));
  REQUIRE(f.run_until([&] { return waiting.size() == 2; }));
  gone.fd = base::Fd();
  CHECK(other.ask(R"({"type":"ping"})") == R"({"type":"ping"})");
  one.receive();
  CHECK(one.received.empty());
  for (const auto& go : std::exchange(waiting, {})) go();
  CHECK(one.reply() == R"({"type":"await_saves"})");
  CHECK(one.ask(R"({"type":"ping"})") == R"({"type":"ping"})");
  one.send(frame(R"({"type":"await_saves"})"));
  REQUIRE(f.run_until([&] { return waiting.size() == 1; }));
  f.socket.reset();
  waiting.front()();  // its answer is not sent
  ControlState s = state();  // there is nothing left to wait for
  CHECK(answer_control_message(R"({"type":"await_saves"})", s) == R"({"type":"await_saves"})");
}

TEST_CASE("the store is left before the worker hears that it may serve it") {
  Fixture f;
  f.socket.reset();
  std::vector<std::string> order;
  auto opened = ControlSocket::open(
      f.loop.get_executor(), f.path, state(), [](const wire::CheckpointNote&) {}, {}, {},
      [&] { order.emplace_back("left"); });
  REQUIRE(opened);
  f.socket = *std::move(opened);
  Client client(f);
  CHECK(client.ask(R"({"type":"ping"})") == R"({"type":"ping"})");
  CHECK(order.empty());
  order.push_back(client.ask(R"({"type":"own_store"})"));
  CHECK(order == std::vector<std::string>{"left", R"({"type":"own_store"})"});
}

TEST_CASE("memory comes as a descriptor with the answer, and a refusal without one") {
  Fixture f;
  f.socket.reset();
  base::FdPair pipe = *base::make_pipe();
  auto opened = ControlSocket::open(f.loop.get_executor(), f.path, state(), {},
                                    [&](std::uint64_t bytes, agent::MemoryTier::Answer answer) {
                                      if (bytes == 1) answer(base::fail(base::Errc::kLimit, "no"));
                                      if (bytes == 0) answer(agent::GivenMemory{});
                                      if (bytes > 1)
                                        answer(agent::GivenMemory{std::move(pipe.second), 7});
                                    });
  REQUIRE(opened);
  Client client(f);
  CHECK(client.ask(R"({"type":"memory","bytes":1})") == R"({"message":"no","type":"error"})");
  CHECK(client.ask(R"({"type":"memory","bytes":0})") == R"({"bytes":0,"type":"memory"})");
  for (const char* bad :
       {R"({"type":"memory"})", R"({"type":"memory","bytes":-1})",
        R"({"type":"memory","bytes":"9"})", R"({"type":"memory","bytes":1e400})"}) {
    CHECK(client.ask(bad).find("error") != std::string::npos);
  }
  client.send(frame(R"({"type":"memory","bytes":5})"));
  char byte = 0;
  iovec room{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &room;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  REQUIRE(f.run_until([&] { return ::recvmsg(client.fd.get(), &message, MSG_CMSG_CLOEXEC) == 1; }));
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  REQUIRE(header != nullptr);
  int passed = -1;
  std::memcpy(&passed, CMSG_DATA(header), sizeof passed);
  const base::Fd end(passed);
  REQUIRE(::write(passed, "x", 1) == 1);
  CHECK(::read(pipe.first.get(), &byte, 1) == 1);
  client.received = std::string(1, static_cast<char>(sizeof R"({"bytes":7,"type":"memory"})" - 1));
  CHECK(client.reply() == R"({"bytes":7,"type":"memory"})");
  CHECK(client.ask(R"({"type":"ping"})") == R"({"type":"ping"})");
}

}  // namespace control_socket_test
