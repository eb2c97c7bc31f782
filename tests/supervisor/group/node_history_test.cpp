#include "supervisor/group/node_history.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "supervisor/limits.h"
#include "tests/scratch_folder.h"

namespace robustrun::supervisor::node_history_test {
namespace {

using robustrun::test::ScratchFolder;

NodeNote note(std::string host, std::string run, NoteKind kind, std::string text = "why") {
  return {std::move(host), std::chrono::milliseconds(1'700'000'000'250), std::move(run), kind,
          std::move(text)};
}

NodeHistory history_of(const std::string& folder) {
  auto history = read_history(folder);
  REQUIRE(history);
  return *std::move(history);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("what was noted is read again, run by run") {
  const ScratchFolder scratch;
  const std::string folder = scratch / "state/nodes";
  CHECK(history_of(folder).notes.empty());
  REQUIRE(append_notes(folder, {note("n1", "r1", NoteKind::kLost, "no \"sign\" of life\n")}));
  REQUIRE(append_notes(folder, {note("n1", "r2", NoteKind::kHang)}));
  REQUIRE(append_notes(folder, {note("n2", "r1", NoteKind::kCleared)}));
  REQUIRE(append_notes(folder, {}));
  CHECK(bytes_of(folder + "/r2.jsonl") ==
        "{\"at_ms\":\"1700000000250\",\"host\":\"n1\",\"kind\":\"hang\",\"run\":\"r2\","
        "\"text\":\"why\"}\n");
  const NodeHistory history = history_of(folder);
  REQUIRE(history.notes.size() == 3);
  CHECK(history.skipped_lines == 0);
  for (const NodeNote& read : history.notes) {
    CHECK(read.wall_time == std::chrono::milliseconds(1'700'000'000'250));
    if (read.kind == NoteKind::kLost) CHECK(read.text.starts_with("no \"sign\" of life"));
  }
  struct stat status = {};
  REQUIRE(::stat(folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a torn line, nonsense and strangers' files cost no good note") {
  const ScratchFolder scratch;
  REQUIRE(append_notes(scratch.path(), {note("n1", "good", NoteKind::kLost)}));
  scratch.write("torn.jsonl",
                "{\"host\":\"n2\",\"at_ms\":\"1700000000000\",\"run\":\"r\",\"kind\":\"lost\"}\n{"
                "\"host\":\"n");
  scratch.write(
      "bad.jsonl",
      "[]\nnull\n{}\n\xff\xfe\n{\"host\":7,\"at_ms\":\"1\",\"run\":\"r\",\"kind\":\"lost\"}\n"
      "{\"host\":\"n\",\"at_ms\":\"1e300\",\"run\":\"r\",\"kind\":\"lost\"}\n"
      "{\"host\":\"n\",\"at_ms\":\"-1\",\"run\":\"r\",\"kind\":\"lost\"}\n"
      "{\"host\":\"n\",\"at_ms\":1,\"run\":\"r\",\"kind\":\"lost\"}\n"
      "{\"host\":\"n\",\"at_ms\":\"1\",\"run\":\"r\",\"kind\":\"eaten\"}\n" +
          std::string(1000, '['));
  scratch.write("readme.txt", "not ours");
  const NodeHistory history = history_of(scratch.path());
  REQUIRE(history.notes.size() == 2);
  CHECK(history.skipped_lines == 11);
  CHECK(history.unread.empty());
}

TEST_CASE("control characters of a note do not reach the terminal") {
  const ScratchFolder scratch;
  scratch.write(
      "evil.jsonl",
      "{\"host\":\"n\\u001b[31m\",\"at_ms\":\"1\",\"run\":\"r\",\"kind\":\"lost\",\"text\":"
      "\"a\\u0007b\"}\n");
  const NodeHistory history = history_of(scratch.path());
  REQUIRE(history.notes.size() == 1);
  CHECK(history.notes[0].host.find('\x1b') == std::string::npos);
  CHECK(history.notes[0].text.find('\x07') == std::string::npos);
}

TEST_CASE("links, pipes and giants are left alone, and named") {
  const ScratchFolder scratch;
  scratch.write("secret", "{\"host\":\"n\",\"at_ms\":\"1\",\"run\":\"r\",\"kind\":\"lost\"}\n");
  std::filesystem::create_symlink(scratch / "secret", scratch / "link.jsonl");
  REQUIRE(::mkfifo((scratch / "pipe.jsonl").c_str(), 0600) == 0);
  scratch.write("giant.jsonl", std::string(kHistoryFileBytesMax + 1, '\n'));
  const NodeHistory history = history_of(scratch.path());
  CHECK(history.notes.empty());
  CHECK(history.unread.size() == 3);
}

TEST_CASE("a folder that cannot be made is an error with its name") {
  const ScratchFolder scratch;
  scratch.write("file", "");
  const auto noted = append_notes(scratch / "file/nodes", {note("n1", "r1", NoteKind::kLost)});
  REQUIRE_FALSE(noted);
  CHECK(noted.error().what.find("file") != std::string::npos);
  CHECK_FALSE(read_history(scratch / "file"));
}

}  // namespace
}  // namespace robustrun::supervisor::node_history_test
