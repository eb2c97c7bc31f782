#include "agent/image/mounting.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "agent/image/tree.h"
#include "agent/node/environment.h"
#include "base/core/hash.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/private_dir.h"
#include "base/io/tool.h"
#include "bootstrap/image/squash_image.h"
#include "bootstrap/store/blob.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using wire::ContainerRuntime;

// The same path for every run of an image on a file system, so that its content has the same path
// at the next start; a path of this run alone where a server may be taken over.
std::string folder_name(const ImagePlan& plan) {
  const wire::WorkerTemplate& workers = plan.workers;
  const std::string key = plan.has_server() ? workers.run_id + "\n" + workers.image : workers.image;
  return fmt::format("image-{:016x}", base::hash64(key));
}

bool is_listening(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  const base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  return fd && ::connect(fd.get(), at, sizeof address) == 0;
}

ContainerRuntime runtime_for(const ImagePlan& plan, const ListImage& list) {
  if (plan.workers.container != ContainerRuntime::kAuto) return plan.workers.container;
  return is_system_root(list) ? ContainerRuntime::kBwrap : ContainerRuntime::kNone;
}

base::Result<std::string> find_runtime(const ImagePlan& plan, const char* name,
                                       const char* package) {
  if (auto found = base::find_executable(name, plan.search_path)) return found;
  return std::unexpected(base::Error{
      Errc::kNotFound, ENOENT,
      fmt::format("cannot start workers in the image {}: {} is not on this machine; install {}, or "
                  "use --container-runtime=none for an image that is a tree of packages",
                  base::printable(bootstrap::shown_source(plan.workers.image)), name, package)});
}

std::vector<std::string> names_of(const std::vector<std::string>& environment) {
  std::vector<std::string> names;
  for (const std::string& entry : environment) {
    if (const auto equals = entry.find('='); equals != std::string::npos) {
      names.push_back(entry.substr(0, equals));
    }
  }
  return names;
}

base::Status plan_container(const ImagePlan& plan, const ListImage& list, MountedImage& image) {
  ContainerCommand container;
  container.root = image.mount.folder();
  container.binds = RR_TRY(container_binds(plan.workers, plan.needs));
  if (image.runtime == ContainerRuntime::kBwrap) {
    container.program = RR_TRY(find_runtime(plan, "bwrap", "bubblewrap"));
    image.container_argv = RR_TRY(bwrap_argv(container, list, {plan.needs.shim, "--hold"}));
    return {};
  }
  std::erase_if(container.binds, [](const ContainerBind& bind) {
    return bind.is_optional && ::access(bind.source.c_str(), F_OK) != 0;
  });
  const std::string& folder = plan.workers.working_directory;
  if (image.runtime == ContainerRuntime::kApptainer) {
    container.program = RR_TRY(find_runtime(plan, "apptainer", "Apptainer"));
    image.prefix = apptainer_prefix(container, folder, ::access("/dev/nvidiactl", F_OK) == 0);
  } else {
    container.program = RR_TRY(find_runtime(plan, "enroot", "enroot"));
    image.prefix = enroot_prefix(container, folder, names_of(plan.workers.environment));
  }
  return {};
}

}  // namespace

ImagePlan image_plan(const wire::WorkerTemplate& workers, const std::string& runtime_directory,
                     const std::string& shim) {
  ImagePlan plan;
  plan.workers = workers;
  plan.base = base::private_base_directory(workers.environment);
  plan.search_path = Environment(workers.environment).get("PATH").value_or("");
  plan.needs.runtime_directory = runtime_directory;
  plan.needs.mounts_directory = plan.base + "/mounts";
  plan.needs.shim = shim;
  return plan;
}

base::Result<bootstrap::MountFolder> take_image_folder(const ImagePlan& plan) {
  const std::string name = folder_name(plan);
  bootstrap::remove_stale_mounts(plan.base, plan.search_path,
                                 plan.has_server() ? name : std::string());
  return bootstrap::MountFolder::take(plan.base, name, "run " + plan.workers.run_id);
}

base::Status clear_image_folder(const ImagePlan& plan, const std::string& folder,
                                const std::string& socket, bool anew) {
  if (!anew && plan.has_server() && is_listening(socket)) {
    return bootstrap::unmount_all(folder + "/root", plan.search_path);
  }
  RR_TRY(bootstrap::unmount_all(folder, plan.search_path));
  ::unlink(socket.c_str());
  return {};
}

base::Result<MountedImage> mount_image(const ImagePlan& plan, const std::string& image,
                                       const std::string& folder) {
  RR_TRY(bootstrap::look_at_squash_image(image));
  const std::string root = folder + "/root";
  RR_TRY(base::make_private_directory(root));
  MountedImage mounted{RR_TRY(bootstrap::SquashMount::make(
                           {.image = image, .folder = root, .path = plan.search_path})),
                       {}};
  mounted.key = RR_TRY(bootstrap::content_key(image));
  const ListImage inside = list_image(root, ImageLinks::kInside);
  mounted.runtime = runtime_for(plan, inside);
  const bool is_container = mounted.runtime != ContainerRuntime::kNone;
  const ListImage list = is_container ? inside : list_image(root, ImageLinks::kAsHere);
  if (plan.workers.mode != wire::LaunchMode::kExecutable) {
    mounted.interpreter = RR_TRY(find_interpreter_in(list, plan.workers, is_container));
  }
  if (!is_container) return mounted;
  ImagePlan here = plan;
  std::error_code error;
  here.needs.python = std::filesystem::canonical(plan.workers.python_path, error).string();
  const std::string& program = plan.workers.program;
  if (program.starts_with('/') && ::access(program.c_str(), F_OK) == 0) {
    here.needs.program_folder = program.substr(0, program.rfind('/'));
  }
  RR_TRY(plan_container(here, list, mounted));
  return mounted;
}

}  // namespace robustrun::agent
