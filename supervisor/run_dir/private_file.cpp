#include "supervisor/run_dir/private_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/io/fd.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

base::Status write_private_file(const std::string& path, std::string_view bytes) {
  return base::write_file_atomically(path, bytes, 0600);
}

base::Result<std::string> read_private_file(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    const int error = errno;
    auto failed = base::fail_errno("cannot read " + path, error);
    if (error == ENOENT) failed.error().code = base::Errc::kNotFound;
    return failed;
  }
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return base::fail(base::Errc::kPermission,
                      "cannot trust " + path +
                          ": it must be a file of yours that no other user may read or write");
  }
  return base::read_file(path, kPrivateFileBytesMax);
}

}  // namespace robustrun::supervisor
