#include "agent/trainer_saves/completeness.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/io/fd.h"
#include "tests/agent/trainer_saves/formats.h"
#include "tests/scratch_folder.h"

namespace completeness_test {

using namespace robustrun;
using State = agent::EntryLook::State;
using test::safetensors_file, test::zip_file;

namespace {

struct Fixture {
  test::ScratchFolder folder;

  [[nodiscard]] base::Result<agent::EntryLook> look(const std::string& name) const {
    const base::Fd fd(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return agent::look_at_entry(fd.get(), name);
  }
  [[nodiscard]] State state(const std::string& name) const { return look(name)->state; }
  [[nodiscard]] std::string why(const std::string& name) const { return look(name)->why; }
  void remove(const std::string& name) const { std::filesystem::remove(folder / name); }
  // As HF Trainer's, in the order in which rank 0 writes.
  void make_hf(const std::string& name) const {
    folder.write(name + "/config.json", "{}");
    folder.write(name + "/model.safetensors", safetensors_file(100));
    folder.write(name + "/training_args.bin", zip_file("arguments"));
    folder.write(name + "/optimizer.pt", zip_file("optimizer"));
    folder.write(name + "/rng_state_0.pth", zip_file("random"));
    folder.write(name + "/trainer_state.json", "{\"global_step\": 5}\n");
  }
};

}  // namespace

TEST_CASE("HF Trainer's checkpoint is whole with trainer_state.json and whole files") {
  const Fixture f;
  f.make_hf("checkpoint-5");
  CHECK(f.state("checkpoint-5") == State::kWhole);
  CHECK(f.look("checkpoint-5")->marks == std::set<std::string>{"trainer_state.json"});
  f.remove("checkpoint-5/trainer_state.json");
  CHECK(f.why("checkpoint-5") == "no trainer_state.json");
  f.folder.write("checkpoint-5/trainer_state.json", "{\"log_history\": [{}");
  CHECK(f.why("checkpoint-5") == "trainer_state.json is not whole JSON");
}

TEST_CASE("a file of a checkpoint that is cut off or empty makes it half-written") {
  const Fixture f;
  f.make_hf("checkpoint-5");
  f.folder.write("checkpoint-5/rng_state_1.pth", zip_file("random").substr(0, 40));
  CHECK(f.why("checkpoint-5") == "rng_state_1.pth has no end-of-archive record");
  f.folder.write("checkpoint-5/rng_state_1.pth", "");
  CHECK(f.why("checkpoint-5") == "rng_state_1.pth is empty");
  f.remove("checkpoint-5/rng_state_1.pth");
  f.folder.write("checkpoint-5/model.safetensors", safetensors_file(100).substr(0, 130));
  CHECK(f.state("checkpoint-5") == State::kHalfWritten);
}

TEST_CASE("the first files of an HF checkpoint alone are half-written") {
  const Fixture f;
  std::filesystem::create_directory(f.folder / "checkpoint-5");
  CHECK(f.why("checkpoint-5") == "empty folder");
  std::filesystem::create_directory(f.folder / "logs");
  CHECK(f.state("logs") == State::kUnknown);
  f.folder.write("checkpoint-5/config.json", "{}");
  CHECK(f.why("checkpoint-5") == "no weights");
  // Model and configuration may be all that a script of one's own saves.
  f.folder.write("checkpoint-5/model.safetensors", safetensors_file(100));
  CHECK(f.state("checkpoint-5") == State::kUnknown);
  f.folder.write("best/config.json", "{}");
  CHECK(f.state("best") == State::kUnknown);
  f.folder.write("best/training_args.bin", zip_file("arguments"));  // Trainer.save_model()
  CHECK(f.state("best") == State::kUnknown);
}

TEST_CASE("shards that an index or a shard's name promises must be there") {
  const Fixture f;
  f.make_hf("checkpoint-5");
  f.folder.write("checkpoint-5/model-00001-of-00002.safetensors", safetensors_file(10));
  CHECK(f.why("checkpoint-5") == "no model-00002-of-00002.safetensors");
  f.folder.write("checkpoint-5/model-00002-of-00002.safetensors", safetensors_file(10));
  CHECK(f.state("checkpoint-5") == State::kWhole);
  f.folder.write("checkpoint-5/model.safetensors.index.json",
                 R"({"weight_map": {"a": "model.safetensors", "b": "other.safetensors"}})");
  CHECK(f.why("checkpoint-5") == "no other.safetensors, which the index lists");
  f.folder.write("checkpoint-5/model.safetensors.index.json", R"({"weight_map": {"a": "mo)");
  CHECK(f.why("checkpoint-5") == "model.safetensors.index.json is not whole JSON");
}

TEST_CASE("a DCP folder needs .metadata, also one within a checkpoint") {
  const Fixture f;
  f.folder.write("step-10/__0_0.distcp", "data");
  CHECK(f.why("step-10") == "no .metadata");
  f.folder.write("step-10/.metadata", "");
  CHECK(f.why("step-10") == ".metadata is empty");
  f.folder.write("step-10/.metadata", "pickle");
  CHECK(f.state("step-10") == State::kWhole);
  f.make_hf("checkpoint-5");
  f.folder.write("checkpoint-5/pytorch_model_fsdp_0/__1_0.distcp", "data");
  CHECK(f.why("checkpoint-5") == "no pytorch_model_fsdp_0/.metadata");
}

TEST_CASE("single files are judged by their formats") {
  const Fixture f;
  f.folder.write("a.ckpt", zip_file("Lightning"));
  CHECK(f.state("a.ckpt") == State::kWhole);
  f.folder.write("a.ckpt", zip_file("Lightning").substr(0, 30));
  CHECK(f.why("a.ckpt") == "it has no end-of-archive record");
  f.folder.write("b.pt", "\x80\x02pickle of an older torch");
  CHECK(f.state("b.pt") == State::kUnknown);
  f.folder.write("c.npz", "");
  CHECK(f.state("c.npz") == State::kUnknown);
  CHECK(f.look("d.pt").error().os_errno == ENOENT);
}

TEST_CASE("links, pipes and folders that cannot be read do no harm") {
  const Fixture f;
  f.make_hf("checkpoint-5");
  CHECK(::symlink("checkpoint-5", (f.folder / "link").c_str()) == 0);
  CHECK_FALSE(f.look("link"));
  CHECK(::symlink("/dev/zero", (f.folder / "checkpoint-5/rng_state_1.pth").c_str()) == 0);
  CHECK(::mkfifo((f.folder / "checkpoint-5/rng_state_2.pth").c_str(), 0600) == 0);
  CHECK(f.state("checkpoint-5") == State::kWhole);
  CHECK(::mkfifo((f.folder / "pipe.pt").c_str(), 0600) == 0);
  CHECK_FALSE(f.look("pipe.pt"));
  // A shard may be a link into a store.
  CHECK(::symlink("model.safetensors",
                  (f.folder / "checkpoint-5/model-00001-of-00001.safetensors").c_str()) == 0);
  CHECK(f.state("checkpoint-5") == State::kWhole);
}

TEST_CASE("the stamp changes with any file of the checkpoint") {
  const Fixture f;
  f.make_hf("checkpoint-5");
  const auto before = f.look("checkpoint-5")->stamp;
  CHECK(before == f.look("checkpoint-5")->stamp);
  f.folder.write("checkpoint-5/optimizer.pt", zip_file("another optimizer"));
  CHECK(before != f.look("checkpoint-5")->stamp);
}

}  // namespace completeness_test
