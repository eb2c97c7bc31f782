#include "agent/image/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "agent/node/environment.h"
#include "agent/node/folder.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

// Program folders of a tree of packages, then those of systems.
constexpr std::array<const char*, 6> kProgramFolders = {
    "/bin", "/opt/venv/bin", "/opt/conda/bin", "/usr/local/bin", "/usr/bin", "/venv/bin"};
// A system's /bin is often a link to /usr/bin and holds the distribution's own Python.
constexpr std::array<const char*, 6> kSystemFolders = {
    "/opt/venv/bin", "/venv/bin", "/opt/conda/bin", "/usr/local/bin", "/usr/bin", "/bin"};
constexpr int kOpenTriesMax = 100;
constexpr const char* kSystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool has_file(const ListImage& list, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return false;
  const std::string name = path.substr(slash + 1);
  return std::ranges::any_of(list(slash == 0 ? "/" : path.substr(0, slash)), [&](const auto& each) {
    return each.name == name && each.kind != ImageEntry::Kind::kFolder;
  });
}

// With an errno for which no other try is made.
std::unexpected<base::Error> not_there(std::string what) {
  return std::unexpected(base::Error{base::Errc::kNotFound, ENOENT, std::move(what)});
}

ImageEntry entry_of(int folder, const dirent& found) {
  ImageEntry entry{found.d_name, ImageEntry::Kind::kOther, {}};
  struct stat status{};
  if (::fstatat(folder, found.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return entry;
  if (S_ISDIR(status.st_mode)) entry.kind = ImageEntry::Kind::kFolder;
  if (!S_ISLNK(status.st_mode)) return entry;
  entry.kind = ImageEntry::Kind::kLink;
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(folder, found.d_name, target.data(), target.size());
  entry.link.assign(target.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  return entry;
}

base::Fd open_folder(const std::string& root, const std::string& folder, ImageLinks links) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  if (links == ImageLinks::kInside) {
    const base::Fd at(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    open_how how{};
    how.flags = kFlags;
    how.resolve = RESOLVE_IN_ROOT;
    base::Fd fd;
    // EAGAIN: a rename or mount anywhere on this machine came between (openat2(2)).
    for (int tries = 0; tries == 0 || (!fd && errno == EAGAIN && tries < kOpenTriesMax); ++tries) {
      fd = base::Fd(
          static_cast<int>(::syscall(SYS_openat2, at.get(), folder.c_str(), &how, sizeof how)));
    }
    // Some sandboxes do not know the call, or refuse it.
    if (fd || (errno != ENOSYS && errno != EPERM)) return fd;
  }
  return base::Fd(::open((root + folder).c_str(), kFlags));
}

}  // namespace

ListImage list_image(const std::string& root, ImageLinks links) {
  return [root, links](const std::string& folder) {
    std::vector<ImageEntry> entries;
    base::Fd fd = open_folder(root, folder, links);
    const Folder open(fd ? ::fdopendir(fd.get()) : nullptr);
    if (open) static_cast<void>(fd.release());
    while (const dirent* const found = open ? ::readdir(open.get()) : nullptr) {
      const std::string_view name = found->d_name;
      if (name != "." && name != "..") entries.push_back(entry_of(::dirfd(open.get()), *found));
    }
    std::ranges::sort(entries, {}, &ImageEntry::name);
    return entries;
  };
}

bool is_system_root(const ListImage& list) {
  return has_file(list, "/etc/passwd") || has_file(list, "/etc/os-release") ||
         has_file(list, "/usr/lib/os-release");
}

base::Result<std::string> find_interpreter_in(const ListImage& list,
                                              const wire::WorkerTemplate& workers,
                                              bool is_container) {
  const std::string image = base::printable(workers.image);
  const std::string chosen = Environment(workers.environment).get("PYTHON_EXEC").value_or("");
  if (chosen.starts_with('/')) {
    if (has_file(list, chosen)) return chosen;
    return not_there(
        fmt::format("cannot find the interpreter PYTHON_EXEC={} in the image {}; "
                    "correct or unset the variable",
                    base::printable(chosen), image));
  }
  std::vector<std::string> names = {"python3", "python"};
  if (!chosen.empty()) names = {chosen};
  for (const char* folder : is_container ? kSystemFolders : kProgramFolders) {
    for (const std::string& name : names) {
      std::string path = std::string(folder) + "/" + name;
      if (has_file(list, path)) return path;
    }
  }
  return not_there(
      fmt::format("cannot find {} in the image {}; it was looked for in {} and "
                  "{} other folders: name it in PYTHON_EXEC, as a path in the image, "
                  "or start a program with --no-python",
                  names.front(), image, kProgramFolders[0], kProgramFolders.size() - 1));
}

wire::WorkerTemplate with_image(wire::WorkerTemplate workers, const std::string& root,
                                const std::string& interpreter, bool is_container) {
  const std::string seen = is_container ? "" : root;
  Environment environment(std::move(workers.environment));
  std::string path = is_container ? std::string(kSystemPath) : root + "/bin";
  const std::string programs = interpreter.substr(0, interpreter.find_last_of('/'));
  if (!interpreter.empty() && seen + programs != path) path.insert(0, seen + programs + ":");
  const std::string before = environment.get("PATH").value_or("");
  environment.set("PATH", before.empty() ? path : path + ":" + before);
  environment.unset("VIRTUAL_ENV");  // another environment's
  environment.unset("PYTHONHOME");
  workers.environment = std::move(environment).take();
  if (!interpreter.empty() && workers.mode != wire::LaunchMode::kExecutable) {
    workers.interpreter = seen + interpreter;
  }
  return workers;
}

}  // namespace robustrun::agent
