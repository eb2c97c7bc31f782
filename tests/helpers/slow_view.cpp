// slow_view SOURCE MOUNTPOINT LATENCY_US [COUNTS [BROKEN [HOLD]]]: a view of a folder as on remote
// or failing storage.
//
// Read-only, through FUSE, in the foreground until it is unmounted. Requests of the kernel (a name,
// an open, a read, a listing) are answered LATENCY_US later, each on a thread of its own, so that
// waits overlap like round trips over a network. The kernel caches reads (kernel_cache), and names
// for a minute. COUNTS: a file for the final number of reads and of bytes. BROKEN: reads of files
// with this in their paths fail with EIO, and listings of folders whose paths end with it. HOLD:
// they do not fail, but reads wait as long as this file is there.

#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

std::string source;
std::string broken;
std::string hold;
bool fails = false;
std::chrono::microseconds latency{};
std::atomic<std::uint64_t> reads{0};
std::atomic<std::uint64_t> bytes{0};

std::string below(const char* path) {
  std::this_thread::sleep_for(latency);
  return source + path;
}

int view_getattr(const char* path, struct stat* status, fuse_file_info*) {
  return ::lstat(below(path).c_str(), status) == 0 ? 0 : -errno;
}

int view_readlink(const char* path, char* target, std::size_t size) {
  const ssize_t length = ::readlink(below(path).c_str(), target, size - 1);
  if (length < 0) return -errno;
  target[length] = '\0';
  return 0;
}

int view_open(const char* path, fuse_file_info* info) {
  if ((info->flags & O_ACCMODE) != O_RDONLY) return -EROFS;
  const int fd = ::open(below(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(fd);
  info->keep_cache = 1;
  return 0;
}

int view_read(const char* path, char* buffer, std::size_t size, off_t offset,
              fuse_file_info* info) {
  std::this_thread::sleep_for(latency);
  const bool is_broken = std::string_view(path).contains(broken);
  if (fails && is_broken) return -EIO;
  while (is_broken && !hold.empty() && ::access(hold.c_str(), F_OK) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const ssize_t got = ::pread(static_cast<int>(info->fh), buffer, size, offset);
  if (got < 0) return -errno;
  ++reads;
  bytes += static_cast<std::uint64_t>(got);
  return static_cast<int>(got);
}

int view_release(const char*, fuse_file_info* info) {
  ::close(static_cast<int>(info->fh));
  return 0;
}

int view_readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*,
                 fuse_readdir_flags) {
  if (fails && !broken.empty() && std::string_view(path).ends_with(broken)) return -EIO;
  DIR* const folder = ::opendir(below(path).c_str());
  if (folder == nullptr) return -errno;
  while (const dirent* entry = ::readdir(folder)) {
    if (fill(buffer, entry->d_name, nullptr, 0, fuse_fill_dir_flags{}) != 0) break;
  }
  ::closedir(folder);
  return 0;
}

void* view_init(fuse_conn_info* connection, fuse_config* config) {
  connection->max_background = 64;
  connection->max_readahead = 128U << 10U;  // as NFS has it by default on Linux
  config->kernel_cache = 1;
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 60;
  config->use_ino = 1;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 7) {
    std::fputs("usage: slow_view SOURCE MOUNTPOINT LATENCY_US [COUNTS [BROKEN [HOLD]]]\n", stderr);
    return 2;
  }
  source = argv[1];
  latency = std::chrono::microseconds(std::strtoul(argv[3], nullptr, 10));
  fails = argc == 6;
  if (argc >= 6) broken = argv[5];
  if (argc == 7) hold = argv[6];
  fuse_operations operations{};
  operations.getattr = view_getattr;
  operations.readlink = view_readlink;
  operations.open = view_open;
  operations.read = view_read;
  operations.release = view_release;
  operations.readdir = view_readdir;
  operations.init = view_init;
  std::array<std::string, 3> words = {argv[0], "-o", "ro,fsname=slow_view"};
  std::array<char*, 3> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  fuse_args options = FUSE_ARGS_INIT(static_cast<int>(arguments.size()), arguments.data());
  fuse* const view = fuse_new(&options, &operations, sizeof(operations), nullptr);
  if (view == nullptr || fuse_mount(view, argv[2]) != 0) return 1;
  fuse_loop_config* const loop = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(loop, 64);
  const int code = fuse_loop_mt(view, loop);
  fuse_loop_cfg_destroy(loop);
  fuse_unmount(view);
  fuse_destroy(view);
  if (argc >= 5) {
    if (std::FILE* const counts = std::fopen(argv[4], "w")) {
      std::fprintf(counts, "%llu %llu\n", static_cast<unsigned long long>(reads),
                   static_cast<unsigned long long>(bytes));
      std::fclose(counts);
    }
  }
  return code == 0 ? 0 : 1;
}
