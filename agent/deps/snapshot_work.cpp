#include "agent/deps/snapshot_work.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "agent/node/environment.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/private_dir.h"
#include "base/io/tool.h"
#include "bootstrap/deps/key.h"
#include "bootstrap/store/limits.h"

namespace robustrun::agent {
namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::Result;
using bootstrap::Snapshot;

constexpr std::size_t kDriverTextMax = 4096;
constexpr const char* kSystemPath = ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

std::string tool_on(const std::string& path, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto found = base::find_executable(name, path + kSystemPath)) return *found;
  }
  return {};
}

// The same check where installers run. In a container the path may be a link that leads nowhere on
// this machine, so it is not followed.
std::string installer_on(const WorkerHome& home, const std::string& path,
                         std::initializer_list<const char*> names) {
  if (!home.is_container()) return tool_on(path, names);
  for (const char* name : names) {
    for (const std::string_view folder : base::split(path, ':')) {
      if (!folder.starts_with('/')) continue;
      std::string found = std::string(folder) + "/" + name;
      struct stat status{};
      const bool is_there = ::lstat(home.seen(found).c_str(), &status) == 0;
      if (is_there && !S_ISDIR(status.st_mode)) return found;
    }
  }
  return {};
}

// A mount made after a container was made reaches it only if mounts propagate between namespaces
// (mount_namespaces(7)).
bool is_seen(const WorkerHome& home, const std::string& tree) {
  if (!home.is_container()) return true;
  struct stat here{}, there{};
  return ::stat(tree.c_str(), &here) == 0 && ::stat(home.seen(tree).c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

// 16 hex digits that no other lease or build has.
std::string fresh_token() {
  base::Rng rng(base::system_seed());
  return fmt::format("{:016x}", rng.next());
}

bootstrap::TreeFacts tree_facts(const std::string& tree, const std::string& minor) {
  std::error_code error;
  bootstrap::TreeFacts facts;
  const std::string packages = tree + "/lib/python" + minor + "/site-packages";
  facts.has_bin = fs::is_directory(tree + "/bin", error);
  facts.has_lib_packages = !minor.empty() && fs::is_directory(packages, error);
  facts.is_conda = fs::is_directory(tree + "/conda-meta", error);
  for (const std::string& folder : {tree, packages}) {
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      facts.has_path_files = facts.has_path_files || entry->path().extension() == ".pth";
    }
  }
  return facts;
}

std::string place_name(const std::string& key, const std::string& id) { return key + "-" + id; }

}  // namespace

// A snapshot made while we waited for it is fresh, however short its lifetime.
bool is_fresh(const Snapshot& snapshot, const SnapshotWish& wish, std::int64_t now_s) {
  if (snapshot.pinned || snapshot.made_s > wish.asked_s) return true;
  return std::chrono::seconds(now_s - snapshot.made_s) < wish.ttl;
}

Result<SnapshotWish> snapshot_wish(const wire::WorkerTemplate& workers, const WorkerHome& home) {
  if (!home.prefix.empty()) {
    return base::fail(base::Errc::kInvalidArgument,
                      "dependencies cannot be installed into a container of apptainer or enroot: "
                      "put them into the image, or use --container-runtime=bwrap");
  }
  SnapshotWish wish;
  wish.home = home;
  wish.cache = workers.cache_directory;
  wish.cache_bytes_max =
      workers.cache_max_gib > 0 ? workers.cache_max_gib << 30U : bootstrap::kCacheBytesMax;
  wish.deps = workers.deps;
  wish.interpreter = workers.interpreter;
  wish.working_directory = workers.working_directory;
  wish.run_id = workers.run_id;
  wish.command = workers.setup_command;
  wish.environment = workers.environment;
  wish.ttl = workers.deps_ttl;
  wish.path = Environment(workers.environment).get("PATH").value_or("");
  // Shows the program only: the rest of a command may hold a password.
  wish.what = wish.deps.empty() && !wish.command.empty() ? wish.command.front() + " …" : wish.deps;
  return wish;
}

Result<SnapshotTarget> find_target(const SnapshotWish& wish, const std::string& abi) {
  SnapshotTarget target;
  if (!wish.deps.empty()) target.kind = RR_TRY(bootstrap::deps_kind(wish.deps));
  target.inputs = RR_TRY(
      bootstrap::gather_inputs(target.kind, wish.deps, wish.working_directory, wish.command));
  bootstrap::SnapshotFacts facts;
  facts.kind = target.kind;
  facts.digest = target.inputs.digest;
  facts.command = wish.command;
  if (target.inputs.needs_directory) facts.directory = wish.working_directory;
  // The key does not depend on where an image is mounted.
  const std::string& root = wish.home.root;
  const bool is_of_image = !root.empty() && wish.interpreter.starts_with(root);
  facts.interpreter = wish.interpreter.substr(is_of_image ? root.size() : 0);
  facts.abi = abi;
  facts.image = wish.home.image_key;
  facts.is_container = wish.home.is_container();
  const auto driver = base::read_file("/proc/driver/nvidia/version", kDriverTextMax);
  if (driver) facts.driver = bootstrap::driver_major(*driver);
  facts.index = bootstrap::index_variables(wish.environment);
  target.key = bootstrap::snapshot_key(facts);
  target.minor = bootstrap::minor_version(abi);
  return target;
}

Result<SnapshotTurn> take_turn(const SnapshotWish& wish, const SnapshotTarget& target,
                               bootstrap::LeaseWatch& watch, base::Nanos now, std::int64_t now_s) {
  SnapshotTurn turn;
  RR_TRY(bootstrap::make_snapshot_folder(wish.cache));
  const auto find = [&] {
    auto found = bootstrap::find_snapshot(wish.cache, target.key);
    if (found && is_fresh(*found, wish, now_s)) turn.found = std::move(found);
    return turn.found.has_value();
  };
  if (find()) return turn;
  const std::string lease = bootstrap::lease_path(wish.cache, target.key);
  const bootstrap::LeaseHolder own = bootstrap::this_holder(wish.run_id, fresh_token());
  if (!RR_TRY(bootstrap::take_lease(lease, own))) {
    const auto view = bootstrap::look_at_lease(lease);
    if (!view) return turn;  // it ended just now: the next look will tell
    turn.builder = view->holder.host.empty()
                       ? "another job"
                       : fmt::format("run {} on {} (process {})", view->holder.run,
                                     view->holder.host, view->holder.pid);
    if (bootstrap::is_holder_dead(view->holder, own.host) || watch.look(*view, now)) {
      bootstrap::break_lease(lease, *view);
    }
    return turn;
  }
  // The previous holder of the lease may have finished between our two looks.
  if (find()) {
    bootstrap::release_lease(lease, own);
  } else {
    turn.own = own;
  }
  return turn;
}

Result<SnapshotBuild> prepare_build(const SnapshotWish& wish, const SnapshotTarget& target,
                                    const bootstrap::LeaseHolder& own) {
  const std::string places = bootstrap::places_folder(wish.environment);
  bootstrap::remove_unfinished(wish.cache, target.key);
  auto place = RR_TRY(bootstrap::SnapshotPlace::open(places, place_name(target.key, own.token)));
  if (!place.lock_alone()) return base::fail(Errc::kConflict, "cannot lock " + place.tree());
  bootstrap::remove_unused_places(places, "");  // ours is locked
  RR_TRY(place.clear());
  bootstrap::BuildPlan plan;
  plan.kind = target.kind;
  plan.deps = wish.deps;
  plan.command = wish.command;
  plan.tree = place.tree();
  plan.has_local = target.inputs.has_local;
  plan.requirements = place.file("requirements.txt");
  RR_TRY(base::write_file_atomically(plan.requirements, target.inputs.requirements, 0600));
  bootstrap::BuildTools tools;
  tools.interpreter = wish.interpreter;
  const std::string beside = fs::path(wish.interpreter).parent_path().string();
  tools.uv = installer_on(wish.home, wish.path + ":" + beside, {"uv"});
  tools.conda = installer_on(wish.home, wish.path, {"micromamba", "mamba", "conda"});
  SnapshotBuild build{std::move(place), {}, own.token, {}, {}};
  build.steps = RR_TRY(bootstrap::plan_build(plan, tools));
  build.unfinished = bootstrap::unfinished_path(wish.cache, target.key, own.token);
  const std::string squash = tool_on(wish.path, {"mksquashfs"});
  if (!squash.empty()) build.squash = bootstrap::squash_argv(squash, plan.tree, build.unfinished);
  return build;
}

Result<Snapshot> finish_build(const SnapshotWish& wish, const SnapshotTarget& target,
                              const SnapshotBuild& build, std::int64_t now_s) {
  Snapshot snapshot;
  snapshot.key = target.key;
  snapshot.id = build.id;
  snapshot.what = wish.what;
  snapshot.made_s = now_s;
  snapshot.pinned = target.inputs.pinned;
  snapshot = RR_TRY(bootstrap::finish_snapshot(wish.cache, std::move(snapshot)));
  const base::Fd use = bootstrap::hold_snapshot(wish.cache, target.key);  // keeps this one
  bootstrap::collect_snapshots(wish.cache, wish.cache_bytes_max, 0, now_s);
  return snapshot;
}

Result<OpenSnapshot> open_snapshot(const SnapshotWish& wish, const SnapshotTarget& target,
                                   const Snapshot& snapshot) {
  OpenSnapshot open;
  open.use = bootstrap::hold_snapshot(wish.cache, target.key);
  bootstrap::touch_snapshot(wish.cache, target.key);
  const std::string file = bootstrap::snapshot_path(wish.cache, target.key);
  const std::string places = bootstrap::places_folder(wish.environment);
  std::string why = "an environment of conda works at its own path alone";
  if (target.kind != bootstrap::DepsKind::kConda) {
    const std::string base = base::private_base_directory(wish.environment);
    auto folder = RR_TRY(bootstrap::MountFolder::take(base, "deps-" + target.key, wish.run_id));
    const std::string inside = RR_TRY(folder.make_inside("tree"));
    static_cast<void>(bootstrap::unmount_all(inside, wish.path));  // of an agent that died
    auto mount = bootstrap::SquashMount::make({file, inside, wish.path});
    if (mount && is_seen(wish.home, inside)) {
      open.tree = inside;
      open.folder = std::move(folder);
      open.mount = *std::move(mount);
      open.facts = tree_facts(open.tree, target.minor);
      return open;
    }
    why = mount ? "its mount is not seen in the container" : mount.error().what;
    if (mount) static_cast<void>(mount->unmount());
    static_cast<void>(folder.remove(wish.path));
  }
  open.place = RR_TRY(bootstrap::SnapshotPlace::open(places, place_name(target.key, snapshot.id)));
  open.tree = open.place->tree();
  if (open.place->lock_shared() && open.place->is_whole()) {
    open.facts = tree_facts(open.tree, target.minor);
    return open;
  }
  if (!open.place->lock_alone()) {
    return base::fail(Errc::kConflict, "another process unpacks " + file);
  }
  const std::string unsquash = tool_on(wish.path, {"unsquashfs"});
  if (unsquash.empty()) {
    return base::fail(Errc::kNotFound,
                      fmt::format("cannot use the snapshot of dependencies {}: {}; and unsquashfs, "
                                  "which would unpack it, is not installed (squashfs-tools)",
                                  file, why));
  }
  RR_TRY(open.place->clear());
  open.unpack = bootstrap::unsquash_argv(unsquash, file, open.tree);
  return open;
}

base::Status fill_snapshot(OpenSnapshot& open, const std::string& minor) {
  RR_ASSERT(open.place.has_value());
  RR_TRY(open.place->mark_whole());
  static_cast<void>(open.place->lock_shared());
  open.facts = tree_facts(open.tree, minor);
  open.unpack.clear();
  return {};
}

Result<OpenSnapshot> keep_place(SnapshotBuild build, const std::string& minor) {
  OpenSnapshot open;
  open.place = std::move(build.place);
  open.tree = open.place->tree();
  RR_TRY(fill_snapshot(open, minor));
  return open;
}

void close_snapshot(OpenSnapshot& open, const std::string& path) {
  if (open.mount) static_cast<void>(open.mount->unmount());
  open.mount.reset();
  if (open.folder) static_cast<void>(open.folder->remove(path));
  open.folder.reset();
}

}  // namespace robustrun::agent
