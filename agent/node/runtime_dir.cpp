#include "agent/node/runtime_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/core/hash.h"
#include "base/io/private_dir.h"

namespace robustrun::agent {
namespace {

constexpr int kRenameRounds = 50;
constexpr std::size_t kKeyDigits = 16;

// The lock of a folder, unless another process holds it or the folder of that name is no longer the
// locked one: a clean-up may have removed it meanwhile.
base::Fd try_lock(const std::string& path) {
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  struct stat named{};
  struct stat held{};
  if (fd && (::stat(path.c_str(), &named) != 0 || ::fstat(fd.get(), &held) != 0 ||
             named.st_ino != held.st_ino)) {
    fd.reset();
  }
  return fd;
}

// Plain files and sockets, and a folder of links to staged files.
void remove_with_files(const std::string& path) {
  std::error_code ignored;  // what cannot be removed is a few bytes in a temporary folder
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    std::filesystem::remove_all(entry.path(), ignored);  // links themselves, not their targets
  }
  ::rmdir(path.c_str());
}

void remove_what_dead_agents_left(const std::string& base) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(base, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= kKeyDigits || name[kKeyDigits] != '-') continue;  // not such a folder
    if (const base::Fd lock = try_lock(entry.path().string())) {
      remove_with_files(entry.path().string());
    }
  }
}

}  // namespace

base::Result<RuntimeDirectory> RuntimeDirectory::make(const std::vector<std::string>& environment,
                                                      const std::string& run_id) {
  const std::string base = base::private_base_directory(environment);
  RR_TRY(base::make_private_directory(base));
  remove_what_dead_agents_left(base);
  // Short, because a socket's path holds at most 107 bytes; the pid keeps agents apart.
  char key[kKeyDigits + 1];
  std::snprintf(key, sizeof key, "%016lx", static_cast<unsigned long>(base::hash64(run_id)));
  const std::string name = std::string(key) + "-" + std::to_string(::getpid());
  const std::string path = base + "/" + name;
  // Renamed once it is locked: another agent's clean-up would take an unlocked one for a dead
  // agent's.
  const std::string fresh = base + "/new-" + name;
  RR_TRY(base::make_private_directory(fresh));
  base::Fd lock = try_lock(fresh);
  // A dead agent's folder of this name is being cleaned up.
  for (int round = 0; lock && round < kRenameRounds; ++round) {
    if (::rename(fresh.c_str(), path.c_str()) == 0) return RuntimeDirectory(path, std::move(lock));
    if (errno != ENOTEMPTY && errno != EEXIST) {
      return base::fail_errno("cannot make the folder " + path, errno);
    }
    remove_what_dead_agents_left(base);
  }
  return base::fail(base::Errc::kConflict,
                    "cannot use the folder " + path + ": another robustrun holds it");
}

RuntimeDirectory::~RuntimeDirectory() {
  if (lock_) remove_with_files(path_);
}

}  // namespace robustrun::agent
