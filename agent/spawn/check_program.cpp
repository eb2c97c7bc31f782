#include "agent/spawn/check_program.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "bootstrap/store/code_store.h"

namespace robustrun::agent {
namespace {

// 0, or the errno that says that nothing is there.
int missing(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return 0;
  return errno == ENOENT || errno == ENOTDIR ? errno : 0;
}

}  // namespace

base::Status check_program(const wire::WorkerTemplate& workers, const WorkerHome& home) {
  constexpr const char* kAdvice =
      "is not on this machine; put it on a file system that every machine sees, or have it brought "
      "there (--sync-code)";
  if (workers.code &&
      missing(bootstrap::code_folder(workers.cache_directory, workers.code->digest)) != 0) {
    return {};  // the code arrives before workers start
  }
  if (const int error = missing(workers.working_directory); error != 0) {
    return base::fail_errno(fmt::format("the folder {} {}", workers.working_directory, kAdvice),
                            error);
  }
  const bool is_file =
      workers.mode == wire::LaunchMode::kScript || workers.mode == wire::LaunchMode::kRunPath;
  if (workers.image.starts_with('/')) {
    if (const int error = missing(workers.image); error != 0) {
      return base::fail_errno(fmt::format("the image {} {}", workers.image, kAdvice), error);
    }
  }
  const bool may_be_in_image =
      !workers.image.empty() && workers.container != wire::ContainerRuntime::kNone;
  if (may_be_in_image && home.container == 0 && (home.root.empty() || home.is_container())) {
    return {};  // not visible from here
  }
  // With ${local_rank} in the name, each worker has another file.
  if (!is_file || workers.program.find('$') != std::string::npos) return {};
  const std::string path = workers.program.starts_with('/')
                               ? workers.program
                               : workers.working_directory + "/" + workers.program;
  const int error = missing(home.seen(path));
  if (error == 0) return {};
  return base::fail_errno(fmt::format("{} {}", path, kAdvice), error);
}

}  // namespace robustrun::agent
