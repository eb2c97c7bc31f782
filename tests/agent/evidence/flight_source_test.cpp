#include "agent/evidence/flight_source.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "agent/node/limits.h"
#include "base/core/clock.h"
#include "base/io/fd.h"
#include "tests/support/fake_flight_server.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"

namespace robustrun::agent::flight_source_test {
namespace {

using base::Errc;
using test::http_answer;
using namespace std::chrono_literals;

// An answer as of torch: one collective of the default group that has not ended.
constexpr const char* kOneCollective = R"({"comm_lib_version": "", "version": "2.10",
  "pg_config": {"": {"desc": "", "name": "", "ranks": "[]"}},
  "pg_status": {"0": {"last_enqueued_collective": "1", "last_started_collective": "-1",
                      "last_completed_collective": "-1"}},
  "entries": [{"record_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"],
    "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1, "profiling_name": "gloo:all_reduce",
    "time_created_ns": 1000, "input_sizes": [[4]], "input_dtypes": ["Float"],
    "output_sizes": [[4]], "output_dtypes": ["Float"], "state": "scheduled", "retired": false,
    "is_p2p": false}]})";

struct Fixture {
  test::Scratch scratch;
  test::Loop loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.executor(), 1, 8};
  NodeContext node{loop.executor(), clock, pool, [](const wire::Message&) {}, {}, {}, {}};
  std::string path = scratch.path("0.0.fr");
  std::optional<test::FakeFlightServer> server;
  std::unique_ptr<FlightSource> source = FlightSource::make(node, path, base::Rank{0});
  std::optional<base::Result<std::vector<tracer::Membership>>> answer;

  test::FakeFlightServer& serve(std::string bytes) {
    server.emplace(loop.executor(), path);
    server->answer = [bytes = std::move(bytes)] { return bytes; };
    return *server;
  }
  void ask(base::Nanos within = 20s) {
    source->ask({{{"0", "all of us", 77, 4, 2}}, within}, [this](auto result) {
      CHECK_FALSE(answer);
      answer.emplace(std::move(result));
    });
    CHECK_FALSE(answer);
    CHECK(source->is_asking());
  }
  std::string leave(const std::string& words) const {
    std::string file = scratch.path("0.0.flight");
    REQUIRE(base::write_file_atomically(file, words, 0600));
    return file;
  }
  Errc error_of(const std::string& bytes, bool hangs_up = true) {
    serve(bytes).hangs_up = hangs_up;
    return error();
  }
  Errc error(base::Nanos within = 20s) {
    ask(within);
    REQUIRE(loop.run_until([this] { return answer.has_value(); }));
    REQUIRE_FALSE(answer->has_value());
    CHECK(answer->error().what.starts_with("cannot "));
    return answer->error().code;
  }
};

}  // namespace

TEST_CASE("an answer becomes memberships, in whatever pieces it arrives") {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    CAPTURE(piece);
    Fixture f;
    f.serve(http_answer(kOneCollective)).piece_bytes = piece;
    SUBCASE("and the connection is closed after it") {}
    SUBCASE("and the connection stays open") { f.server->hangs_up = false; }
    f.ask();
    REQUIRE(f.loop.run_until([&] { return f.answer.has_value(); }));
    REQUIRE_MESSAGE(f.answer->has_value(), f.answer->error().what);
    REQUIRE((*f.answer)->size() == 1);
    const tracer::Membership& all = (*f.answer)->front();
    CHECK(all.comm == 77);  // as in the record
    CHECK(all.size == 4);
    CHECK(all.rank == 2);
    CHECK(all.entered == 1);
    CHECK(all.done == 0);
    CHECK_FALSE(f.source->is_asking());
    CHECK(f.server->heard.starts_with("POST /handler/fr_trace_json HTTP/1.1\r\n"));
  }
}

TEST_CASE("one source can be asked repeatedly") {
  Fixture f;
  f.serve(http_answer(kOneCollective));
  for (int i = 0; i < 3; ++i) {
    f.answer.reset();
    f.ask();
    REQUIRE(f.loop.run_until([&] { return f.answer.has_value(); }));
    CHECK(f.answer->has_value());
  }
  CHECK(f.server->questions == 3);
}

// The recorders of a worker, by the handler's name.
struct Recorders {
  std::map<std::string, std::string> bodies;
  std::map<std::string, unsigned> questions;

  std::string operator()(const std::string& question) {
    const std::size_t begin = question.find("/handler/") + 9;
    const std::string handler = question.substr(begin, question.find(' ', begin) - begin);
    ++questions[handler];
    const auto found = bodies.find(handler);
    return found == bodies.end() ? http_answer("", "404 Not Found") : http_answer(found->second);
  }
};

constexpr const char* kNccl2 = "fr_trace_json?backend=nccl2";
constexpr const char* kLazy = "fr_trace_json?backend=nccl-lazy";
constexpr const char* kNccl = "dump_nccl_trace_json";
constexpr const char* kEmpty = R"({"version": "2.10", "pg_config": {}})";

std::string over(const std::string& back_end) {
  std::string made = kOneCollective;
  made.replace(made.find("gloo:"), 5, back_end + ":");
  return made;
}

void ask_all(Fixture& f, Recorders& recorders) {
  if (!f.server) f.serve("");
  f.server->answer_to = std::ref(recorders);
  f.answer.reset();
  f.source->ask({{{"0", "all of us", 77, 4, 2}}, 20s, true},
                [&f](auto result) { f.answer.emplace(std::move(result)); });
  REQUIRE(f.loop.run_until([&] { return f.answer.has_value(); }));
}

TEST_CASE("the recorders of all back ends are read, each with communicators of its own") {
  Fixture f;
  Recorders recorders{{{"fr_trace_json", kOneCollective},
                       {kNccl2, over("nccl2")},
                       {kLazy, kEmpty},
                       {kNccl, over("nccl")}},
                      {}};
  ask_all(f, recorders);
  REQUIRE_MESSAGE(f.answer->has_value(), f.answer->error().what);
  std::set<std::string> names;
  std::set<std::uint64_t> keys;
  for (const tracer::Membership& one : **f.answer) {
    if (one.entered == 0) continue;
    names.insert(one.name);
    keys.insert(one.comm);
  }
  CHECK(names == std::set<std::string>{"all of us", "all of us (nccl2)"});
  CHECK(keys.size() == 2);
  CHECK(keys.contains(77));
  CHECK(recorders.questions[kNccl] == 0);  // its answer can break the capture of a CUDA graph
}

TEST_CASE("a recorder that the worker's torch lacks is asked for once") {
  Fixture f;
  Recorders recorders{{{"fr_trace_json", kOneCollective}}, {}};
  SUBCASE("it does not know the handler") {}
  SUBCASE("it answers with gloo's") {
    recorders.bodies[kNccl2] = recorders.bodies[kLazy] = kOneCollective;
  }
  for (int i = 0; i < 3; ++i) {
    ask_all(f, recorders);
    REQUIRE(f.answer->has_value());
    CHECK((*f.answer)->size() == 1);
  }
  CHECK(recorders.questions["fr_trace_json"] == 3);
  for (const char* handler : {kNccl2, kLazy}) CHECK(recorders.questions[handler] == 1);
}

TEST_CASE("gloo's recorder without entries is taken for no other's, which is asked again") {
  constexpr const char* kUnused =
      R"({"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg",
          "ranks": "[0, 1]"}}})";
  Fixture f;
  Recorders recorders{{{"fr_trace_json", kUnused}, {kNccl2, kUnused}, {kLazy, kUnused}}, {}};
  ask_all(f, recorders);
  REQUIRE(f.answer->has_value());
  for (const tracer::Membership& one : **f.answer)
    CHECK(one.name.find("nccl") == std::string::npos);
  recorders.bodies[kNccl2] = over("nccl2");
  ask_all(f, recorders);
  REQUIRE(f.answer->has_value());
  CHECK(recorders.questions[kNccl2] == 2);
  CHECK(std::ranges::any_of(**f.answer, [](const tracer::Membership& one) {
    return one.name.ends_with("(nccl2)") && one.entered == 1;
  }));
}

TEST_CASE("a recorder that fails hides no other") {
  Fixture f;
  Recorders recorders{{{"fr_trace_json", "{"}, {kNccl2, over("nccl2")}, {kLazy, "["}}, {}};
  ask_all(f, recorders);
  REQUIRE(f.answer->has_value());
  REQUIRE((*f.answer)->size() == 1);
  CHECK((*f.answer)->front().name == "all of us (nccl2)");
}

TEST_CASE("the last dumps of all recorders are read, and removed") {
  Fixture f;
  const std::string left = f.leave(kOneCollective);
  REQUIRE(base::write_file_atomically(left + ".nccl2", over("nccl2"), 0600));
  f.source = FlightSource::make(f.node, f.path, base::Rank{0}, left);
  f.source->ask({{}, 20s, true}, [&f](auto result) { f.answer.emplace(std::move(result)); });
  REQUIRE(f.loop.run_until([&] { return f.answer.has_value(); }));
  REQUIRE(f.answer->has_value());
  CHECK((*f.answer)->size() == 2);
  remove_last_words(left);
  CHECK(::access(left.c_str(), F_OK) != 0);
  CHECK(::access((left + ".nccl2").c_str(), F_OK) != 0);
}

TEST_CASE("without a server there is an error") {
  Fixture f;
  SUBCASE("no socket") {}
  SUBCASE("nothing listens any more") {
    f.serve("");
    f.server.reset();
  }
  SUBCASE("no path") { f.source = FlightSource::make(f.node, "", base::Rank{0}); }
  SUBCASE("a path that no socket can have") {
    f.source = FlightSource::make(f.node, "/tmp/" + std::string(200, 'x'), base::Rank{0});
  }
  CHECK(f.error() == Errc::kNotFound);
}

TEST_CASE("a worker that does not answer is described by its last dump") {
  Fixture f;
  const std::string left = f.leave(kOneCollective);
  f.source = FlightSource::make(f.node, f.path, base::Rank{0}, left);
  SUBCASE("no socket") {}
  SUBCASE("it closes the connection") { f.serve(""); }
  f.ask();
  REQUIRE(f.loop.run_until([&] { return f.answer.has_value(); }));
  REQUIRE_MESSAGE(f.answer->has_value(), f.answer->error().what);
  REQUIRE((*f.answer)->size() == 1);
  CHECK((*f.answer)->front().comm == 77);
  CHECK((*f.answer)->front().entered == 1);
}

TEST_CASE("a worker's answer is preferred to its last dump") {
  Fixture f;
  const std::string left = f.leave("{}");
  f.source = FlightSource::make(f.node, f.path, base::Rank{0}, left);
  f.serve(http_answer(kOneCollective));
  f.ask();
  REQUIRE(f.loop.run_until([&] { return f.answer.has_value(); }));
  CHECK(f.answer->has_value());
}

TEST_CASE("an invalid last dump is an error, never a wait") {
  Fixture f;
  std::string left = f.scratch.path("0.0.flight");
  f.source = FlightSource::make(f.node, f.path, base::Rank{0}, left);
  SUBCASE("no file") { CHECK(f.error() == Errc::kNotFound); }
  SUBCASE("a pipe") {
    REQUIRE(::mkfifo(left.c_str(), 0600) == 0);
    CHECK(f.error() == Errc::kNotFound);
  }
  SUBCASE("too long") {
    const base::Fd fd(::open(left.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(kFlightAnswerBytesMax) + 1) == 0);
    CHECK(f.error() == Errc::kNotFound);
  }
  SUBCASE("cut") {
    f.leave(std::string(kOneCollective).substr(0, 200));
    CHECK(f.error() == Errc::kCorrupt);
  }
}

TEST_CASE("a server that misbehaves is an error, never a wait") {
  struct Case {
    const char* name;
    std::string bytes;
    Errc code;
  };
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: ";
  const Case cases[] = {
      {"hangs up at once", "", Errc::kUnavailable},
      {"hangs up within the head", "HTTP/1.1 200 OK\r\nConte", Errc::kUnavailable},
      {"hangs up within the body", head + "100\r\n\r\n{}", Errc::kUnavailable},
      {"speaks something else", "SSH-2.0-OpenSSH_9.2\r\n", Errc::kCorrupt},
      {"an older HTTP", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", Errc::kCorrupt},
      {"does not know the handler", http_answer("", "404 Not Found"), Errc::kNotFound},
      {"its handler failed", http_answer("bad", "500 Error"), Errc::kUnavailable},
      {"a head that is not even a status", "HTTP/1.1 \r\n\r\n", Errc::kUnavailable},
      {"no length", "HTTP/1.1 200 OK\r\n\r\n{}", Errc::kCorrupt},
      {"an invalid length", head + "many\r\n\r\n{}", Errc::kInvalidArgument},
      {"a negative length", head + "-1\r\n\r\n{}", Errc::kInvalidArgument},
      {"no JSON", http_answer("{\"entries\": [}"), Errc::kCorrupt},
      {"JSON of something else", http_answer("[1, 2]"), Errc::kCorrupt},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Fixture f;
    CHECK(f.error_of(c.bytes) == c.code);
  }
}

TEST_CASE("answers have limits") {
  Fixture f;
  SUBCASE("announced") {
    const auto size = std::to_string(kFlightAnswerBytesMax + 1);
    CHECK(f.error_of("HTTP/1.1 200 OK\r\nContent-Length: " + size + "\r\n\r\n", false) ==
          Errc::kLimit);
  }
  SUBCASE("a head without end") {
    CHECK(f.error_of("HTTP/1.1 200 OK\r\n" + std::string(kHttpHeadBytesMax, 'x'), false) ==
          Errc::kLimit);
  }
}

TEST_CASE("a length is found in any case of letters") {
  const auto progress = look_at_http("HTTP/1.1 200 OK\r\ncOnTent-LENGTH:3\r\n\r\nabc");
  REQUIRE(progress);
  CHECK(progress->is_whole);
  CHECK(progress->body_size == 3);
  CHECK_FALSE(look_at_http("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab")->is_whole);
}

TEST_CASE("silence is a time-out") {
  Fixture f;
  SUBCASE("a worker that does not even accept") {
    const base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, f.path.c_str());
    REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(fd.get(), 8) == 0);
    CHECK(f.error(10ms) == Errc::kTimeout);
  }
  SUBCASE("one that does not answer") {
    f.serve("").listens_to_questions = false;
    CHECK(f.error(10ms) == Errc::kTimeout);
  }
  SUBCASE("one that stops in the middle") {
    f.serve("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}").hangs_up = false;
    CHECK(f.error(10ms) == Errc::kTimeout);
  }
}

TEST_CASE("a dropped source does not call back") {
  Fixture f;
  f.serve(http_answer(kOneCollective));
  f.ask();
  SUBCASE("at once") {}
  SUBCASE("while the answer is being read") {
    REQUIRE(f.loop.run_until([&] { return f.server->questions == 1; }));
  }
  f.source.reset();
  bool later = false;
  REQUIRE(f.pool.submit(kFlightLane, [] {}, [&] { later = true; }));
  REQUIRE(f.loop.run_until([&] { return later; }));
  CHECK_FALSE(f.answer);
}

}  // namespace robustrun::agent::flight_source_test
