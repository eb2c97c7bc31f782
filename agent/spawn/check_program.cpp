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

constexpr const char* kSyncAdvice = ", or let robustrun bring it there (--sync-code=.)";

std::unexpected<base::Error> failed(int os_errno, const std::string& what, const char* advice) {
  auto failure = base::fail_errno({}, os_errno);
  failure.error().what = fmt::format(
      "{} is not on this machine: put it on a file system that every machine sees{}", what, advice);
  return failure;
}

}  // namespace

base::Status check_program(const wire::WorkerTemplate& workers, const WorkerHome& home) {
  if (workers.code &&
      missing(bootstrap::code_folder(workers.cache_directory, workers.code->digest)) != 0) {
    return {};  // the code arrives before workers start
  }
  if (const int error = missing(workers.working_directory); error != 0) {
    return failed(error, fmt::format("the folder {}", workers.working_directory), kSyncAdvice);
  }
  const bool is_file =
      workers.mode == wire::LaunchMode::kScript || workers.mode == wire::LaunchMode::kRunPath;
  if (workers.image.starts_with('/')) {
    if (const int error = missing(workers.image); error != 0) {
      return failed(error, fmt::format("the image {}", workers.image), "");
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
  return failed(error, path, kSyncAdvice);
}

}  // namespace robustrun::agent
