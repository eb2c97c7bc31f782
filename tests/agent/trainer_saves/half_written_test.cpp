#include "agent/trainer_saves/half_written.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "agent/trainer_saves/limits.h"
#include "base/core/clock.h"
#include "tests/agent/trainer_saves/formats.h"
#include "tests/scratch_folder.h"

namespace half_written_test {

using namespace robustrun;
using agent::HalfWritten;
using Strings = std::vector<std::string>;
using test::safetensors_file, test::zip_file;

namespace {

struct Fixture {
  test::ScratchFolder folder;
  HalfWritten half_written;
  HalfWritten::Attempt attempt{.number = base::Attempt{0},
                               .globs = {"out/checkpoint-*"},
                               .directory = folder.path(),
                               .now = base::SystemClock().wall_time()};

  HalfWritten::Outcome next_outcome() {
    HalfWritten::Outcome outcome = half_written.before_attempt(attempt);
    attempt.number = base::Attempt{attempt.number.value + 1};
    return outcome;
  }
  Strings next() { return next_outcome().lines; }
  void make_whole(const std::string& name) const {
    make_half(name);
    folder.write(name + "/trainer_state.json", "{}");
  }
  void make_half(const std::string& name) const {
    folder.write(name + "/model.safetensors", safetensors_file(100));
    folder.write(name + "/training_args.bin", zip_file("arguments"));
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(folder / name);
  }
  // Everything in it changed so long ago.
  void age(const std::string& name, std::chrono::seconds age) const {
    const std::string path = folder / name;
    const auto then = std::filesystem::file_time_type::clock::now() - age;
    for (const auto& each : std::filesystem::directory_iterator(path)) {
      std::filesystem::last_write_time(each, then);
    }
    std::filesystem::last_write_time(path, then);
  }
};

}  // namespace

TEST_CASE("what the previous attempt left half-written is moved aside, whole ones stay") {
  Fixture f;
  CHECK(f.next().empty());  // out/ is not there yet
  f.make_whole("out/checkpoint-5");
  f.make_half("out/checkpoint-10");
  CHECK(f.next() == Strings{"out/checkpoint-10 is half-written (no trainer_state.json; attempt 0 "
                            "was writing it): moved to "
                            "out/.robustrun-incomplete/checkpoint-10.attempt0"});
  CHECK(f.exists("out/checkpoint-5/trainer_state.json"));
  CHECK_FALSE(f.exists("out/checkpoint-10"));
  CHECK(f.exists("out/.robustrun-incomplete/checkpoint-10.attempt0/model.safetensors"));
  CHECK(f.next().empty());
}

TEST_CASE("what was moved is told for the journal, up to a limit; what stays is not") {
  Fixture f;
  CHECK(f.next().empty());
  f.attempt.globs = {"a/checkpoint-*", "b/checkpoint-*", "c/checkpoint-*", "d/checkpoint-*",
                     "e/checkpoint-*"};
  f.make_half("a/checkpoint-10");
  f.make_whole("a/checkpoint-5");
  const HalfWritten::Outcome outcome = f.next_outcome();
  REQUIRE(outcome.moved.size() == 1);
  CHECK(outcome.moved[0].attempt == base::Attempt{1});
  CHECK(outcome.moved[0].path == "a/checkpoint-10");
  CHECK(outcome.moved[0].moved_to == "a/.robustrun-incomplete/checkpoint-10.attempt0");
  CHECK(outcome.moved[0].evidence == "no trainer_state.json; attempt 0 was writing it");
  for (const std::string folder : {"a", "b", "c", "d", "e"}) {
    for (int i = 20; i < 34; ++i) f.make_half(folder + "/checkpoint-" + std::to_string(i));
  }
  const HalfWritten::Outcome many = f.next_outcome();
  CHECK(many.lines.size() == 70);
  CHECK(many.moved.size() == agent::kMovedToldMax);
  f.attempt.is_asked_for = false;
  f.make_half("a/checkpoint-40");
  CHECK(f.next_outcome().moved.empty());
}

TEST_CASE("a name that is taken gets a number; nothing is overwritten") {
  Fixture f;
  CHECK(f.next().empty());
  f.make_half("out/checkpoint-10");
  f.folder.write("out/.robustrun-incomplete/checkpoint-10.attempt0/kept", "kept");
  CHECK(f.next().size() == 1);
  CHECK(f.exists("out/.robustrun-incomplete/checkpoint-10.attempt0.2/model.safetensors"));
  CHECK(f.exists("out/.robustrun-incomplete/checkpoint-10.attempt0/kept"));
}

TEST_CASE("what an earlier run left is moved once it is old and the newest") {
  Fixture f;
  f.make_half("out/checkpoint-5");
  f.age("out/checkpoint-5", std::chrono::hours(1));
  f.make_whole("out/checkpoint-10");
  f.make_half("out/checkpoint-15");
  const Strings lines = f.next();  // it may still be written
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("may still be in use") != std::string::npos);
  f.age("out/checkpoint-10", std::chrono::minutes(20));
  f.age("out/checkpoint-15", std::chrono::minutes(10));
  f.attempt.number = base::Attempt{0};
  const Strings moved = f.next();
  REQUIRE(moved.size() == 1);
  CHECK(
      moved[0].starts_with("out/checkpoint-15 is half-written (no trainer_state.json; unchanged"));
  CHECK(moved[0].ends_with(
      ", newer than every whole one): moved to out/.robustrun-incomplete/checkpoint-15.before"));
  CHECK(f.exists("out/checkpoint-5"));
}

TEST_CASE("a node that saw no attempt waits until the checkpoint is unchanged for a moment") {
  Fixture f;
  f.attempt.number = base::Attempt{3};
  f.make_half("out/checkpoint-5");
  CHECK(f.next().size() == 1);
  CHECK(f.exists("out/checkpoint-5"));
  f.age("out/checkpoint-5", std::chrono::seconds(30));
  f.attempt.number = base::Attempt{3};
  CHECK(HalfWritten().before_attempt(f.attempt).lines.size() == 1);
  CHECK(f.exists("out/.robustrun-incomplete/checkpoint-5.attempt2"));
}

TEST_CASE("a mark that whole checkpoints of the same kind have is missed") {
  Fixture f;
  f.attempt.globs = {"out/*"};
  CHECK(f.next().empty());
  f.folder.write("out/step_100/random_states_0.pkl", zip_file("random"));
  f.folder.write("out/step_200/model.safetensors", safetensors_file(10));
  f.folder.write("out/final/model.safetensors", safetensors_file(10));
  const Strings lines = f.next();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("no random_states_0.pkl, which out/step_100 has") != std::string::npos);
  CHECK(f.exists("out/step_100"));
  CHECK(f.exists("out/final"));
  CHECK_FALSE(f.exists("out/step_200"));
}

TEST_CASE("unknown formats stay; the last seconds of an attempt are reported once") {
  Fixture f;
  CHECK(f.next().empty());
  f.folder.write("out/checkpoint-5/blob", "data");
  f.attempt.ended = base::SystemClock().wall_time() + std::chrono::hours(1);
  CHECK(f.next().empty());
  f.folder.write("out/checkpoint-5/blob", "more data");
  f.attempt.ended = base::SystemClock().wall_time();
  const Strings lines = f.next();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("in the last seconds of attempt 1") != std::string::npos);
  CHECK(f.exists("out/checkpoint-5"));
}

TEST_CASE("without the option nothing is moved, and one line suggests it") {
  Fixture f;
  f.attempt.is_asked_for = false;
  CHECK(f.next().empty());
  f.make_half("out/checkpoint-5");
  CHECK(f.next() ==
        Strings{"out/checkpoint-5 looks half-written (no trainer_state.json): --checkpoints "
                "'out/checkpoint-*' moves such checkpoints aside before a restart"});
  CHECK(f.exists("out/checkpoint-5"));
  CHECK(f.next().empty());
}

TEST_CASE("links and what the glob does not match stay") {
  Fixture f;
  f.make_half("elsewhere/checkpoint-1");
  CHECK(f.next().empty());
  f.make_half("elsewhere/checkpoint-2");
  f.folder.write("out/readme", "");
  f.make_half("out/other-3");
  CHECK(::symlink("../elsewhere/checkpoint-2", (f.folder / "out/checkpoint-2").c_str()) == 0);
  CHECK(::symlink("../elsewhere", (f.folder / "out/linked").c_str()) == 0);
  f.attempt.globs = {"out/checkpoint-*", "out/*/checkpoint-*"};
  CHECK(f.next().empty());
  CHECK(f.exists("out/checkpoint-2"));
  CHECK(f.exists("elsewhere/checkpoint-2"));
  CHECK(f.exists("out/other-3"));
  f.attempt.globs = {"out/linked/checkpoint-*"};  // spelled out
  f.make_half("elsewhere/checkpoint-2");
  f.age("elsewhere/checkpoint-2", std::chrono::minutes(1));
  f.age("elsewhere/checkpoint-1", std::chrono::minutes(1));
  CHECK(f.next().size() == 2);
  CHECK(f.exists("elsewhere/.robustrun-incomplete/checkpoint-2.attempt1"));
}

TEST_CASE("a folder that cannot be written is reported once, with the cause") {
  Fixture f;
  CHECK(f.next().empty());
  f.make_half("out/checkpoint-5");
  f.folder.write("out/.robustrun-incomplete", "a file in the way");
  const Strings lines = f.next();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("Not a directory") != std::string::npos);
  CHECK(f.exists("out/checkpoint-5"));
}

TEST_CASE("only the newest checkpoints of a folder are examined") {
  Fixture f;
  CHECK(f.next().empty());
  f.make_half("out/checkpoint-1");
  f.age("out/checkpoint-1", std::chrono::hours(1));
  for (int i = 2; i < 20; ++i) f.make_whole("out/checkpoint-" + std::to_string(i));
  CHECK(f.next().empty());
  CHECK(f.exists("out/checkpoint-1"));
}

TEST_CASE("globs that cannot mean checkpoints are refused") {
  for (const char* const good :
       {"out/checkpoint-*", "/a/*.ckpt", "ckpt.pt", "runs/*/step-[0-9]*"}) {
    CHECK(agent::check_checkpoint_glob(good));
  }
  for (const std::string& bad : {std::string("out/"), std::string(".."), std::string("a/."),
                                 std::string("out/**/checkpoint-*"), std::string(2000, 'a')}) {
    CHECK_FALSE(agent::check_checkpoint_glob(bad));
  }
}

TEST_CASE("HF Trainer's folder is known from --output_dir") {
  const auto globs = [](const Strings& arguments) {
    return agent::usual_checkpoint_globs(arguments);
  };
  CHECK(globs({"--output_dir", "out"}) == Strings{"out/checkpoint-*"});
  CHECK(globs({"--lr=1", "--output_dir=/data/run/"}) == Strings{"/data/run/checkpoint-*"});
  CHECK(globs({"--output_dir"}).empty());
  CHECK(globs({"--output_dir="}).empty());
  CHECK(globs({"--output_dir=out*"}).empty());
  CHECK(globs({"out"}).empty());
}

}  // namespace half_written_test
