// disk_recorder.so, for LD_PRELOAD: writes down what a real process changes below some folders and
// what it syncs, in order, so that tests/e2e/helpers/power_loss.py can leave behind what a loss of
// power might have. Made for tests alone.
//
//   DISK_RECORDER_LOG    the file to write to
//   DISK_RECORDER_ROOTS  the folders, ':' between them
//   DISK_RECORDER_LIES   an extended regular expression: syncs of paths that match it are not
//                        written down, as if they had been forgotten: a test of the tests
//
// One call at a time is let through, over all processes that share the log: its order is what
// happened. A record is `struct Record` and two strings. What is written through mmap or io_uring
// is not seen; the engine uses neither for files unless it is told to.

#include <dlfcn.h>
#include <fcntl.h>
#include <regex.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Record {
  char kind[8];  // zero behind the word
  std::uint64_t inode;
  std::uint64_t offset;  // or a length
  std::uint64_t first_bytes;
  std::uint64_t second_bytes;
};

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

struct Recorder {
  std::string log_path;
  std::vector<std::string> roots;
  regex_t lies{};
  bool has_lies = false;
  std::recursive_mutex mutex;
  int log = -1;
  pid_t owner = 0;

  static Recorder& get() {
    static Recorder* const only = new Recorder;  // used until the process is gone
    return *only;
  }
  Recorder() {
    const char* path = ::getenv("DISK_RECORDER_LOG");
    const char* folders = ::getenv("DISK_RECORDER_ROOTS");
    const char* ignored = ::getenv("DISK_RECORDER_LIES");
    if (path == nullptr || folders == nullptr) return;
    log_path = path;
    has_lies = ignored != nullptr;
    if (has_lies && ::regcomp(&lies, ignored, REG_EXTENDED | REG_NOSUB) != 0) std::abort();
    std::string_view left = folders;
    while (!left.empty()) {
      roots.emplace_back(left.substr(0, left.find(':')));
      left.remove_prefix(std::min(left.size(), roots.back().size() + 1));
    }
  }
  [[nodiscard]] bool watches(std::string_view path) const {
    for (const std::string& root : roots) {
      if (path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/')) {
        return true;
      }
    }
    return false;
  }
  // A child has a description of the file of its own, so that flock() is between the two.
  int log_fd() {
    if (owner != ::getpid()) {
      static const auto real_open = real<int (*)(const char*, int, ...)>("open");
      log = real_open(log_path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
      owner = ::getpid();
      if (log < 0) std::abort();
    }
    return log;
  }
  void note(const char* kind, std::uint64_t inode, std::uint64_t offset, std::string_view first,
            std::string_view second = {}) {
    static const auto real_writev = real<ssize_t (*)(int, const iovec*, int)>("writev");
    Record record{{}, inode, offset, first.size(), second.size()};
    std::memcpy(record.kind, kind, std::min(sizeof record.kind, std::strlen(kind)));
    const iovec parts[] = {{&record, sizeof record},
                           {const_cast<char*>(first.data()), first.size()},
                           {const_cast<char*>(second.data()), second.size()}};
    const auto all = static_cast<ssize_t>(sizeof record + first.size() + second.size());
    if (real_writev(log_fd(), parts, 3) != all) std::abort();
  }
};

// Nobody else's call is between this one and its record.
class Turn {
 public:
  Turn() : lock_(Recorder::get().mutex) {
    if (++depth() == 1) ::flock(Recorder::get().log_fd(), LOCK_EX);
  }
  ~Turn() {
    const int kept = errno;
    if (--depth() == 0) ::flock(Recorder::get().log_fd(), LOCK_UN);
    errno = kept;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static int& depth() {
    static int value = 0;
    return value;
  }
  std::scoped_lock<std::recursive_mutex> lock_;
};

std::string absolute(int folder, const char* path) {
  if (path[0] == '/') return path;
  char base[PATH_MAX] = "";
  if (folder == AT_FDCWD) {
    if (::getcwd(base, sizeof base) == nullptr) return path;
  } else {
    const std::string link = "/proc/self/fd/" + std::to_string(folder);
    if (::readlink(link.c_str(), base, sizeof base - 1) < 0) return path;
  }
  return std::string(base) + "/" + path;
}

// Empty: it is nothing that is watched.
std::string path_of(int fd) {
  if (Recorder::get().roots.empty()) return {};
  char path[PATH_MAX] = "";
  if (::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path - 1) < 0) {
    return {};
  }
  return Recorder::get().watches(path) ? path : "";
}

std::uint64_t inode_of(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

std::uint64_t inode_at(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

template <class Call>
int opened(int folder, const char* name, int flags, Call call) {
  const std::string path = absolute(folder, name);
  if ((flags & (O_CREAT | O_TRUNC)) == 0 || !Recorder::get().watches(path)) return call();
  const Turn turn;
  const bool was_there = inode_at(path) != 0;
  const int fd = call();
  if (fd < 0) return fd;
  if (!was_there) Recorder::get().note("create", inode_of(fd), 0, path);
  if (was_there && (flags & O_TRUNC) != 0) Recorder::get().note("size", inode_of(fd), 0, "");
  return fd;
}

// `at` -1: where the file stands.
template <class Call>
ssize_t written(int fd, const iovec* parts, int count, off_t at, Call call) {
  const std::string path = path_of(fd);
  if (path.empty()) return call();
  const Turn turn;
  const bool appends = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
  if (at < 0) at = ::lseek(fd, 0, appends ? SEEK_END : SEEK_CUR);
  const ssize_t wrote = call();
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  }
  if (wrote <= 0) return wrote;
  bytes.resize(static_cast<std::size_t>(wrote));
  Recorder::get().note("write", inode_of(fd), static_cast<std::uint64_t>(at), bytes);
  return wrote;
}

template <class Call>
int synced(int fd, Call call) {
  const std::string path = path_of(fd);
  if (path.empty()) return call();
  const Turn turn;
  const int status = call();
  const Recorder& recorder = Recorder::get();
  const bool lie = recorder.has_lies && ::regexec(&recorder.lies, path.c_str(), 0, nullptr, 0) == 0;
  if (status == 0 && !lie) Recorder::get().note("sync", inode_of(fd), 0, path);
  return status;
}

template <class Call>
int sized(int fd, std::uint64_t bytes, bool may_shrink, Call call) {
  if (path_of(fd).empty()) return call();
  const Turn turn;
  struct stat before{};
  ::fstat(fd, &before);
  const int status = call();
  if (status == 0 && (may_shrink || bytes > static_cast<std::uint64_t>(before.st_size))) {
    Recorder::get().note("size", inode_of(fd), bytes, "");
  }
  return status;
}

template <class Call>
int moved(const char* kind, int from_folder, const char* from, int to_folder, const char* to,
          Call call) {
  const std::string first = absolute(from_folder, from);
  const std::string second = absolute(to_folder, to);
  if (!Recorder::get().watches(first) && !Recorder::get().watches(second)) return call();
  const Turn turn;
  const std::uint64_t inode = inode_at(first);
  const int status = call();
  if (status == 0) Recorder::get().note(kind, inode, 0, first, second);
  return status;
}

template <class Call>
int changed(const char* kind, int folder, const char* name, Call call) {
  const std::string path = absolute(folder, name);
  if (!Recorder::get().watches(path)) return call();
  const Turn turn;
  const int status = call();
  if (status == 0) Recorder::get().note(kind, 0, 0, path);
  return status;
}

mode_t mode_from(int flags, va_list words) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(words, int)) : 0;
}

}  // namespace

#define RR_OPEN(name)                                                                   \
  int name(const char* path, int flags, ...) {                                          \
    static const auto real_call = real<int (*)(const char*, int, ...)>(#name);          \
    va_list words;                                                                      \
    va_start(words, flags);                                                             \
    const mode_t mode = mode_from(flags, words);                                        \
    va_end(words);                                                                      \
    return opened(AT_FDCWD, path, flags, [&] { return real_call(path, flags, mode); }); \
  }
#define RR_OPENAT(name)                                                                       \
  int name(int folder, const char* path, int flags, ...) {                                    \
    static const auto real_call = real<int (*)(int, const char*, int, ...)>(#name);           \
    va_list words;                                                                            \
    va_start(words, flags);                                                                   \
    const mode_t mode = mode_from(flags, words);                                              \
    va_end(words);                                                                            \
    return opened(folder, path, flags, [&] { return real_call(folder, path, flags, mode); }); \
  }

// The names of the C library, which calls to it end up at.
extern "C" {
// What the process itself wants to have in the log: "saved 3".
void disk_recorder_mark(const char* text);

RR_OPEN(open)
RR_OPEN(open64)
RR_OPENAT(openat)
RR_OPENAT(openat64)

ssize_t write(int fd, const void* bytes, size_t count) {
  static const auto real_call = real<ssize_t (*)(int, const void*, size_t)>("write");
  const iovec part{const_cast<void*>(bytes), count};
  return written(fd, &part, 1, -1, [&] { return real_call(fd, bytes, count); });
}
ssize_t writev(int fd, const iovec* parts, int count) {
  static const auto real_call = real<ssize_t (*)(int, const iovec*, int)>("writev");
  return written(fd, parts, count, -1, [&] { return real_call(fd, parts, count); });
}
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t at) {
  static const auto real_call = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  const iovec part{const_cast<void*>(bytes), count};
  return written(fd, &part, 1, at, [&] { return real_call(fd, bytes, count, at); });
}
ssize_t pwrite64(int fd, const void* bytes, size_t count, off_t at) {
  static const auto real_call = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite64");
  const iovec part{const_cast<void*>(bytes), count};
  return written(fd, &part, 1, at, [&] { return real_call(fd, bytes, count, at); });
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t at) {
  static const auto real_call = real<ssize_t (*)(int, const iovec*, int, off_t)>("pwritev");
  return written(fd, parts, count, at, [&] { return real_call(fd, parts, count, at); });
}

int fsync(int fd) {
  static const auto real_call = real<int (*)(int)>("fsync");
  return synced(fd, [&] { return real_call(fd); });
}
int fdatasync(int fd) {
  static const auto real_call = real<int (*)(int)>("fdatasync");
  return synced(fd, [&] { return real_call(fd); });
}
// sync_file_range() promises nothing when the power goes: it is let through and not written down.

int ftruncate(int fd, off_t bytes) noexcept {
  static const auto real_call = real<int (*)(int, off_t)>("ftruncate");
  return sized(fd, static_cast<std::uint64_t>(bytes), true, [&] { return real_call(fd, bytes); });
}
int ftruncate64(int fd, off_t bytes) noexcept {
  static const auto real_call = real<int (*)(int, off_t)>("ftruncate64");
  return sized(fd, static_cast<std::uint64_t>(bytes), true, [&] { return real_call(fd, bytes); });
}
int posix_fallocate(int fd, off_t offset, off_t bytes) {
  static const auto real_call = real<int (*)(int, off_t, off_t)>("posix_fallocate");
  return sized(fd, static_cast<std::uint64_t>(offset + bytes), false,
               [&] { return real_call(fd, offset, bytes); });
}
int posix_fallocate64(int fd, off_t offset, off_t bytes) {
  static const auto real_call = real<int (*)(int, off_t, off_t)>("posix_fallocate64");
  return sized(fd, static_cast<std::uint64_t>(offset + bytes), false,
               [&] { return real_call(fd, offset, bytes); });
}
int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  static const auto real_call = real<int (*)(int, int, off_t, off_t)>("fallocate");
  if (mode != 0) return real_call(fd, mode, offset, bytes);
  return sized(fd, static_cast<std::uint64_t>(offset + bytes), false,
               [&] { return real_call(fd, mode, offset, bytes); });
}

int rename(const char* from, const char* to) noexcept {
  static const auto real_call = real<int (*)(const char*, const char*)>("rename");
  return moved("rename", AT_FDCWD, from, AT_FDCWD, to, [&] { return real_call(from, to); });
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  static const auto real_call = real<int (*)(int, const char*, int, const char*)>("renameat");
  return moved("rename", from_folder, from, to_folder, to,
               [&] { return real_call(from_folder, from, to_folder, to); });
}
int link(const char* from, const char* to) noexcept {
  static const auto real_call = real<int (*)(const char*, const char*)>("link");
  return moved("link", AT_FDCWD, from, AT_FDCWD, to, [&] { return real_call(from, to); });
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  static const auto real_call = real<int (*)(int, const char*, int, const char*, int)>("linkat");
  return moved("link", from_folder, from, to_folder, to,
               [&] { return real_call(from_folder, from, to_folder, to, flags); });
}
int unlink(const char* path) noexcept {
  static const auto real_call = real<int (*)(const char*)>("unlink");
  return changed("remove", AT_FDCWD, path, [&] { return real_call(path); });
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  static const auto real_call = real<int (*)(int, const char*, int)>("unlinkat");
  return changed("remove", folder, path, [&] { return real_call(folder, path, flags); });
}
int rmdir(const char* path) noexcept {
  static const auto real_call = real<int (*)(const char*)>("rmdir");
  return changed("remove", AT_FDCWD, path, [&] { return real_call(path); });
}
int remove(const char* path) noexcept {
  static const auto real_call = real<int (*)(const char*)>("remove");
  return changed("remove", AT_FDCWD, path, [&] { return real_call(path); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real_call = real<int (*)(const char*, mode_t)>("mkdir");
  return changed("mkdir", AT_FDCWD, path, [&] { return real_call(path, mode); });
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  static const auto real_call = real<int (*)(int, const char*, mode_t)>("mkdirat");
  return changed("mkdir", folder, path, [&] { return real_call(folder, path, mode); });
}

void disk_recorder_mark(const char* text) {
  const Turn turn;
  Recorder::get().note("mark", 0, 0, text);
}
}
