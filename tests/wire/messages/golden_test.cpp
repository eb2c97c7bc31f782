// The bytes of protocol version 1, as first stored: later versions of robustrun must write and read
// the same. RR_UPDATE_GOLDEN=1 writes what is missing; what exists never changes.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "base/io/fd.h"
#include "base/io/tool.h"
#include "tests/paths.h"
#include "tests/wire/examples.h"
#include "wire/messages/field_codec.h"
#include "wire/messages/frame.h"

namespace golden_test {

using namespace robustrun;
using robustrun::test::Example;

namespace {

const std::string kFolder = in_source("tests/golden/wire-v1/");

std::string payload_of(const wire::Message& message) {
  return std::visit([](const auto& alternative) { return wire::encode(alternative); }, message);
}

std::string stored(const std::string& path, const std::string& now) {
  if (std::getenv("RR_UPDATE_GOLDEN") != nullptr && !std::filesystem::exists(path)) {
    REQUIRE(base::write_file_atomically(path, now, 0644));
  }
  const auto bytes = base::read_file(path, 1 << 20);
  REQUIRE_MESSAGE(bytes.has_value(), path);
  return *bytes;
}

// protoc's reading of a file of bytes, with no code of ours.
std::string protoc_text(const std::string& message, const std::string& path) {
  const auto result = base::run_tool(
      {"/bin/sh", "-c",
       R"(exec protoc --proto_path="$1" --decode="robustrun.$2" robustrun.proto <"$3")", "sh",
       in_source("docs/formats"), message, path},
      std::chrono::seconds(20));
  REQUIRE(result);
  REQUIRE_MESSAGE(result->status.success(), result->err);
  return result->out;
}

}  // namespace

TEST_CASE("every message is written in the bytes that version 1 has stored") {
  for (const Example& example : test::example_messages()) {
    CAPTURE(example.file);
    const std::string now = payload_of(example.message);
    CHECK(now == stored(kFolder + example.file + ".bin", now));
  }
}

TEST_CASE("stored messages of version 1 are read back whole") {
  for (const Example& example : test::example_messages()) {
    CAPTURE(example.file);
    const std::string payload = base::read_file(kFolder + example.file + ".bin", 1 << 20).value();
    std::string frame(wire::kFrameHeaderBytes, '\0');
    REQUIRE(payload.size() < 65536);
    frame[0] = static_cast<char>(payload.size() & 0xFF);
    frame[1] = static_cast<char>(payload.size() >> 8);
    frame[4] = static_cast<char>(example.message.index());
    wire::FrameReader reader;
    reader.feed(frame + payload);
    auto message = reader.next();
    REQUIRE(message);
    REQUIRE(message->has_value());
    CHECK((*message)->index() == example.message.index());
    CHECK(payload_of(**message) == payload);
  }
}

TEST_CASE("messages of version 1 without newer members keep their meaning") {
  const auto old = [](const std::string& name) {
    return base::read_file(kFolder + name + ".bin", 1 << 20).value();
  };
  const auto hello = wire::decode<wire::Hello>(old("Hello")).value();
  CHECK(hello.host == "host");
  CHECK(hello.pid == 4242);
  CHECK(hello.address.empty());
  CHECK_FALSE(hello.attempt.has_value());
  const auto welcome = wire::decode<wire::Welcome>(old("Welcome")).value();
  CHECK(welcome.node.value == 2);
  CHECK(welcome.workers.program == "train");
  CHECK(welcome.heartbeat_interval == std::chrono::seconds(1));
  CHECK(welcome.orphan_grace.count() == 0);
  CHECK(wire::decode<wire::Hello>(old("Hello-2")).value().listens.empty());
  const auto second = wire::decode<wire::Welcome>(old("Welcome-2")).value();
  CHECK(second.incarnation == 1);
  CHECK(second.endpoints.empty());
  CHECK(wire::decode<wire::Welcome>(old("Welcome-3")).value().workers.numa_memory.empty());
  CHECK(wire::decode<wire::Welcome>(old("Welcome-4")).value().workers.trace);
  CHECK(wire::decode<wire::Welcome>(old("Welcome-5")).value().workers.standby ==
        wire::StandbyMode::kOff);
  CHECK_FALSE(wire::decode<wire::Welcome>(old("Welcome-6")).value().workers.tell_modules);
  CHECK_FALSE(wire::decode<wire::Welcome>(old("Welcome-7")).value().workers.checkpoints);
  const auto ninth = wire::decode<wire::Welcome>(old("Welcome-8")).value();
  CHECK(ninth.workers.prefetch == wire::PrefetchMode::kOff);
  CHECK(wire::decode<wire::Welcome>(old("Welcome-9")).value().workers.image.empty());
  CHECK(wire::decode<wire::Welcome>(old("Welcome-9")).value().workers.deps.empty());
  CHECK_FALSE(wire::decode<wire::Welcome>(old("Welcome-9")).value().workers.stages);
  CHECK(wire::decode<wire::Welcome>(old("Welcome-11")).value().workers.cache_max_gib == 0);
  CHECK(wire::decode<wire::Hello>(old("Hello-4")).value().began == base::Nanos{});
  CHECK_FALSE(wire::decode<wire::StopWorkers>(old("StopWorkers")).value().save_first);
  CHECK_FALSE(wire::decode<wire::WorkerStarted>(old("WorkerStarted")).value().warm);
  CHECK(wire::decode<wire::Welcome>(old("Welcome-5")).value().workers.metrics.empty());
  CHECK(wire::decode<wire::WorkerProgress>(old("WorkerProgress")).value().lines == 0);
  CHECK_FALSE(wire::decode<wire::CheckNode>(old("CheckNode")).value().gpus);
  CHECK_FALSE(wire::decode<wire::NodeChecked>(old("NodeChecked")).value().facts.probe.asked);
  const auto heartbeat = wire::decode<wire::Heartbeat>(old("Heartbeat")).value();
  CHECK(heartbeat.sequence == 9);
  CHECK(heartbeat.at.count() == 0);
  CHECK(wire::decode<wire::StageNews>(old("StageNews")).value().ranks.empty());
  CHECK(wire::decode<wire::Dismiss>(old("Dismiss")).value().exit_code == 0);
  CHECK_FALSE(wire::decode<wire::Observe>(old("Observe")).value().ras);
  CHECK_FALSE(wire::decode<wire::Observe>(old("Observe-2")).value().use_of);
  CHECK_FALSE(wire::decode<wire::StartWorkers>(old("StartWorkers")).value().version);
  CHECK(wire::decode<wire::StartWorkers>(old("StartWorkers-2")).value().ordered_by == 0);
  CHECK(wire::decode<wire::WorkerStarted>(old("WorkerStarted-2")).value().ordered_by == 0);
  CHECK(wire::decode<wire::WorkerStarted>(old("WorkerStarted-3")).value().cold.empty());
  CHECK(wire::decode<wire::WorkerExited>(old("WorkerExited")).value().script_end ==
        base::ScriptEnd::kNotSeen);
  CHECK(wire::decode<wire::KeepStandbys>(old("KeepStandbys")).value().like.ordered_by == 0);
  CHECK(wire::decode<wire::Hello>(old("Hello-5")).value().ordered_by == 0);
  CHECK_FALSE(wire::decode<wire::Welcome>(old("Welcome-12")).value().workers.overlap_saves);
  CHECK_FALSE(wire::decode<wire::Welcome>(old("Welcome-16")).value().workers.tell_moved);
  CHECK_FALSE(wire::decode<wire::StartWorkers>(old("StartWorkers-3")).value().saving);
  CHECK_FALSE(wire::decode<wire::StartWorkers>(old("StartWorkers-4")).value().restarts);
  CHECK_FALSE(wire::decode<wire::WorkerProgress>(old("WorkerProgress-2")).value().steps_before);
  CHECK(wire::decode<wire::NodeEnding>(old("NodeEnding")).value().signal == 0);
  CHECK_FALSE(wire::decode<wire::WorkersGone>(old("WorkersGone")).value().saving);
  CHECK_FALSE(wire::decode<wire::HeldCopiesSaved>(old("HeldCopiesSaved")).value().saving);
  CHECK_FALSE(wire::decode<wire::PlaceCopies>(old("PlaceCopies")).value().rate);
  CHECK_FALSE(wire::decode<wire::CopiesKept>(old("CopiesKept")).value().copies.at(0).part);
}

TEST_CASE("protoc reads the stored messages correctly by docs/formats/robustrun.proto") {
  for (const Example& example : test::example_messages()) {
    CAPTURE(example.file);
    const std::string now = protoc_text(example.name, kFolder + example.file + ".bin");
    CHECK(now == stored(kFolder + example.file + ".txt", now));
    // A field missing in the schema is printed with its number only.
    CHECK(now.find("\n1: ") == std::string::npos);
    CHECK_FALSE(now.starts_with("1: "));
  }
}

}  // namespace golden_test
