#include <doctest/doctest.h>

#include "cli/plan/plan.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_image_test {

using testing::World;

namespace {

base::Result<wire::WorkerTemplate> workers_of(const World& world,
                                              const std::vector<std::string>& argv) {
  auto made = plan_run(world.merge(argv).value(), argv, world.around);
  if (!made) return std::unexpected(made.error());
  return made->request.workers;
}

std::string image_error(const World& world, const std::vector<std::string>& argv) {
  const auto made = workers_of(world, argv);
  return made ? "no error" : made.error().what;
}

struct ImageWorld : World {
  ImageWorld() { machine.files["/job/a.sqsh"] = "hsqs"; }
};

}  // namespace

TEST_CASE("an image at a path is mounted in place, one at a URL is fetched by blocks") {
  const ImageWorld world;
  const auto path = workers_of(world, {"--image=a.sqsh", "train.py"});
  REQUIRE(path);
  CHECK(path->image == "/job/a.sqsh");
  CHECK(path->image_mode == wire::ImageMode::kPageCache);
  CHECK(path->container == wire::ContainerRuntime::kAuto);
  CHECK(path->interpreter.empty());  // each node finds it in the image
  const auto url = workers_of(world, {"--image", "https://h/a.sqsh", "train.py"});
  REQUIRE(url);
  CHECK(url->image == "https://h/a.sqsh");
  CHECK(url->image_mode == wire::ImageMode::kBlocks);
  const std::string digested = "https://h/a.sqsh#sha256=" + std::string(64, 'a');
  CHECK(workers_of(world, {"--image", digested, "train.py"})->image == digested);
  const auto both = workers_of(world, {"--image=/job/a.sqsh", "--image-mode=blocks", "train.py"});
  CHECK(both->image_mode == wire::ImageMode::kBlocks);
}

TEST_CASE("the limit of the cache is the same for every node, and 0 by default") {
  const ImageWorld world;
  CHECK(workers_of(world, {"--image=a.sqsh", "train.py"})->cache_max_gib == 0);
  CHECK(workers_of(world, {"--cache-max=200", "train.py"})->cache_max_gib == 200);
  for (const char* wrong : {"--cache-max=-1", "--cache-max=1048577", "--cache-max=much"}) {
    CAPTURE(wrong);
    CHECK_FALSE(world.merge({wrong, "train.py"}));
  }
}

TEST_CASE("neither interpreter nor script is needed on this machine if the image may have them") {
  ImageWorld world;
  world.machine.executables.clear();
  CHECK(workers_of(world, {"--image=a.sqsh", "/workspace/train.py"}));
  CHECK_FALSE(workers_of(world, {"--image=a.sqsh", "--container-runtime=none", "gone.py"}));
  CHECK(workers_of(world, {"--image=a.sqsh", "--no-python", "tool"}));
  CHECK_FALSE(workers_of(world, {"--no-python", "tool"}));
}

TEST_CASE("options that contradict an image are refused before anything starts") {
  const ImageWorld world;
  CHECK(image_error(world, {"--image=gone.sqsh", "train.py"}) ==
        "cannot use --image=gone.sqsh: No such file or directory; check the path");
  CHECK(image_error(world, {"--image=ftp://h/a", "train.py"}) ==
        "cannot use --image=ftp://h/a: expected a path, or http:// or https://");
  CHECK(image_error(world, {"--image=http://h/a#sha256=12", "train.py"}) ==
        "cannot use --image=http://h/a#sha256=12: #sha256= must be followed by 64 hexadecimal "
        "digits, "
        "as sha256sum prints them");
  CHECK(image_error(world, {"--image=a.sqsh#sha256=" + std::string(64, 'a'), "train.py"})
            .ends_with("only an image at a URL has a digest"));
  CHECK(image_error(world, {"--image=http://h/a", "--image-mode=pagecache", "train.py"})
            .starts_with("cannot use --image-mode=pagecache: an image at a URL"));
  CHECK(image_error(world, {"--container-runtime=bwrap", "train.py"}) ==
        "cannot use --container-runtime=bwrap: it needs --image");
  CHECK(image_error(world, {"--image=a.sqsh", "--container-mounts=/a:b", "train.py"})
            .starts_with("cannot use --container-mounts=/a:b: '/a:b' is not a mount"));
  CHECK(image_error(world, {"--image=a.sqsh", "--container-runtime=none",
                            "--container-mounts=/a:/b", "train.py"})
            .find("see the whole node anyway") != std::string::npos);
  ImageWorld directory;
  directory.machine.kinds["/job/tree"] = PathKind::kDirectory;
  CHECK(image_error(directory, {"--image=tree", "train.py"}).find("mksquashfs") !=
        std::string::npos);
}

TEST_CASE("blocks without a cache are refused") {
  World world;
  world.around.environment = {"PATH=/usr/bin"};
  CHECK(image_error(world, {"--image=http://h/a", "train.py"}).find("--cache-dir") !=
        std::string::npos);
  CHECK(workers_of(world, {"--image=http://h/a", "--cache-dir=/c", "train.py"}));
}

TEST_CASE("mounts of a container are kept as they were written") {
  const ImageWorld world;
  const auto workers =
      workers_of(world, {"--image=a.sqsh", "--container-mounts=/a:/b:ro,/c", "train.py"});
  REQUIRE(workers);
  CHECK(workers->container_mounts == std::vector<std::string>{"/a:/b:ro", "/c"});
}

}  // namespace robustrun::cli::plan_image_test
