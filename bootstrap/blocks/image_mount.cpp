#define FUSE_USE_VERSION 35
#include "bootstrap/blocks/image_mount.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fuse3/fuse_lowlevel.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/tool.h"
#include "bootstrap/blocks/limits.h"

namespace robustrun::bootstrap {
namespace {

constexpr fuse_ino_t kImageInode = 2;
constexpr std::string_view kImageName = "image";
constexpr double kForeverSeconds = 365.0 * 86400;
constexpr std::chrono::seconds kUnmountDeadline{10};
constexpr std::string_view kFusermount = "/usr/bin/fusermount3";

ImageMount& mount_of(fuse_req_t request) {
  return *static_cast<ImageMount*>(::fuse_req_userdata(request));
}

struct stat status_of(const ImageMount& mount, fuse_ino_t inode) {
  struct stat status{};
  status.st_ino = inode;
  status.st_uid = ::geteuid();
  status.st_gid = ::getegid();
  if (inode == FUSE_ROOT_ID) {
    status.st_mode = S_IFDIR | 0555;
    status.st_nlink = 2;
  } else {
    status.st_mode = S_IFREG | 0444;
    status.st_nlink = 1;
    status.st_size = static_cast<off_t>(mount.length());
    status.st_blocks = static_cast<blkcnt_t>((mount.length() + 511) / 512);
    status.st_blksize = 1 << 17;
  }
  return status;
}

void begin_session(void* /*mount*/, fuse_conn_info* connection) {
  connection->max_read = kFuseReadBytes;
  connection->max_background = kFuseBackground;
  connection->congestion_threshold = kFuseBackground * 3 / 4;
}

void look_up(fuse_req_t request, fuse_ino_t parent, const char* name) {
  if (parent != FUSE_ROOT_ID || name != kImageName) {
    ::fuse_reply_err(request, ENOENT);
    return;
  }
  fuse_entry_param entry{};
  entry.ino = kImageInode;
  entry.attr = status_of(mount_of(request), kImageInode);
  entry.attr_timeout = kForeverSeconds;
  entry.entry_timeout = kForeverSeconds;
  ::fuse_reply_entry(request, &entry);
}

void tell_status(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/) {
  const struct stat status = status_of(mount_of(request), inode);
  ::fuse_reply_attr(request, &status, kForeverSeconds);
}

void open_image(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file) {
  if (inode != kImageInode) {
    ::fuse_reply_err(request, EISDIR);
  } else if ((file->flags & O_ACCMODE) != O_RDONLY) {
    ::fuse_reply_err(request, EROFS);
  } else {
    file->keep_cache = 1;
    ImageMount& mount = mount_of(request);
    mount.count_open(1);
    if (::fuse_reply_open(request, file) != 0) mount.count_open(-1);
  }
}

void close_image(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/) {
  mount_of(request).count_open(-1);
  ::fuse_reply_err(request, 0);
}

void read_image(fuse_req_t request, fuse_ino_t /*inode*/, std::size_t size, off_t offset,
                fuse_file_info* /*file*/) {
  mount_of(request).reads().read(static_cast<std::uint64_t>(offset), size,
                                 [request](const base::Result<std::span<const char>>& bytes) {
                                   if (!bytes) {
                                     ::fuse_reply_err(request, EIO);
                                   } else {
                                     ::fuse_reply_buf(request, bytes->data(), bytes->size());
                                   }
                                 });
}

void list_folder(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
                 fuse_file_info* /*file*/) {
  constexpr std::array<std::pair<fuse_ino_t, const char*>, 3> kEntries = {
      {{FUSE_ROOT_ID, "."}, {FUSE_ROOT_ID, ".."}, {kImageInode, "image"}}};
  if (inode != FUSE_ROOT_ID) {
    ::fuse_reply_err(request, ENOTDIR);
    return;
  }
  std::array<char, 512> bytes;
  const std::size_t room = std::min(size, bytes.size());
  std::size_t used = 0;
  for (auto i = static_cast<std::size_t>(offset); i < kEntries.size(); ++i) {
    const struct stat status = status_of(mount_of(request), kEntries[i].first);
    const std::size_t needed =
        ::fuse_add_direntry(request, bytes.data() + used, room - used, kEntries[i].second, &status,
                            static_cast<off_t>(i + 1));
    if (needed > room - used) break;
    used += needed;
  }
  ::fuse_reply_buf(request, bytes.data(), used);
}

constexpr fuse_lowlevel_ops image_operations() {
  fuse_lowlevel_ops operations{};
  operations.init = begin_session;
  operations.lookup = look_up;
  operations.getattr = tell_status;
  operations.open = open_image;
  operations.release = close_image;
  operations.read = read_image;
  operations.readdir = list_folder;
  return operations;
}

base::Status detach(const std::string& folder) {
  if (::umount2(folder.c_str(), MNT_DETACH) == 0) return {};
  if (errno == EINVAL || errno == ENOENT) return {};  // not mounted any more
  if (errno != EPERM) return base::fail_errno(fmt::format("cannot unmount '{}'", folder), errno);
  const auto done =
      RR_TRY(base::run_tool({std::string(kFusermount), "-uz", folder}, kUnmountDeadline));
  if (done.status.success()) return {};
  return base::fail(base::Errc::kUnavailable, fmt::format("cannot unmount '{}': {}", folder,
                                                          base::printable(base::trim(done.err))));
}

bool is_mount_point(const std::string& folder) {
  struct stat status{};
  struct stat parent{};
  return ::stat(folder.c_str(), &status) == 0 && ::stat((folder + "/..").c_str(), &parent) == 0 &&
         status.st_dev != parent.st_dev;
}

// The kernel's file for the read-ahead size; empty: unknown.
std::string read_ahead_file(const std::string& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return {};
  return fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", ::major(status.st_dev),
                     ::minor(status.st_dev));
}

}  // namespace

base::Status detach_stale_mount(const std::string& folder) {
  // Several servers may have been killed there in turn.
  constexpr int kStaleMax = 64;
  for (int i = 0; i < kStaleMax; ++i) {
    // Not stat(): the kernel may have cached the dead server's reply.
    struct statvfs answer{};
    const bool is_answered = ::statvfs(folder.c_str(), &answer) == 0;
    if (!is_answered && errno != ENOTCONN) return {};
    if (is_answered && is_mount_point(folder)) {
      return base::fail(base::Errc::kConflict,
                        fmt::format("cannot use '{}': a file system is mounted there", folder));
    }
    if (is_answered) return {};
    RR_TRY(detach(folder));
    RR_LOG(kInfo, ({}), "detached the mount of a killed server: {}", folder);
  }
  return base::fail(base::Errc::kConflict,
                    fmt::format("cannot use '{}': too many dead mounts are stacked on it", folder));
}

base::Result<std::unique_ptr<ImageMount>> ImageMount::mount(const std::string& folder,
                                                            BlobReads& reads,
                                                            std::uint64_t length) {
  RR_TRY(detach_stale_mount(folder));
  RR_TRY(base::make_directories(folder, 0700));
  std::unique_ptr<ImageMount> mount(new ImageMount(reads, length));
  mount->folder_ = folder;
  static const fuse_lowlevel_ops operations = image_operations();
  const std::string options = fmt::format(
      "ro,nosuid,nodev,fsname=robustrun-blocks,subtype=robustrun,max_read={}", kFuseReadBytes);
  std::string name = "robustrun-blocks";
  std::string dash = "-o";
  std::string text = options;
  std::array<char*, 4> words = {name.data(), dash.data(), text.data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(3, words.data());
  mount->session_ = ::fuse_session_new(&arguments, &operations, sizeof(operations), mount.get());
  ::fuse_opt_free_args(&arguments);
  if (mount->session_ == nullptr || ::fuse_session_mount(mount->session_, folder.c_str()) != 0) {
    return base::fail(base::Errc::kUnavailable,
                      fmt::format("cannot mount at '{}': FUSE refused (see its message above); "
                                  "it needs /dev/fuse, and root or fusermount3",
                                  folder));
  }
  mount->is_mounted_ = true;
  try {
    for (unsigned i = 0; i < kFuseThreads; ++i) {
      mount->threads_.emplace_back([raw = mount.get()] { raw->run_requests(); });
    }
  } catch (const std::exception& error) {
    mount->unmount();  // ends the threads that have begun
    return base::fail(base::Errc::kUnavailable,
                      fmt::format("cannot start threads for '{}': {}; the limit of processes "
                                  "(`ulimit -u`) or of memory may be too low",
                                  folder, error.what()));
  }
  mount->read_ahead_file_ = read_ahead_file(folder);
  return mount;
}

void ImageMount::run_requests() {
  fuse_buf buffer{};
  while (::fuse_session_exited(session_) == 0) {
    const int got = ::fuse_session_receive_buf(session_, &buffer);
    if (got == -EINTR || got == -EAGAIN) continue;
    if (got <= 0) break;
    ::fuse_session_process_buf(session_, &buffer);
  }
  std::free(buffer.mem);
  is_gone_ = true;
}

void ImageMount::read_far_ahead() {
  const base::Fd fd(::open(read_ahead_file_.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd) static_cast<void>(base::write_all(fd.get(), std::to_string(kReadAheadKib)));
}

void ImageMount::unmount() {
  if (!is_mounted_.exchange(false) || is_gone_) return;
  if (const auto done = detach(folder_); !done) RR_LOG(kWarn, ({}), "{}", done.error().what);
}

ImageMount::~ImageMount() {
  unmount();
  // Threads blocked in the kernel by a reader end with the process.
  for (std::thread& thread : threads_) thread.join();
  if (session_ != nullptr) ::fuse_session_destroy(session_);
}

}  // namespace robustrun::bootstrap
