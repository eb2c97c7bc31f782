#include "bootstrap/image/squash_mount.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "base/io/child.h"
#include "base/io/fd.h"
#include "base/io/strays.h"
#include "base/io/tool.h"
#include "bootstrap/image/mount_table.h"

namespace robustrun::bootstrap {
namespace {

using base::Errc;

constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

std::vector<Mount> mounts_now() {
  const auto text = base::read_file("/proc/self/mountinfo", kMountTableBytesMax);
  return text ? parse_mounts(*text) : std::vector<Mount>{};
}

base::Result<std::string> find_helper(std::initializer_list<const char*> names,
                                      const std::string& path) {
  for (const char* name : names) {
    if (auto found = base::find_executable(name, path + ":" + kUsualPath)) return found;
  }
  return base::fail(Errc::kNotFound, fmt::format("{} is not installed", *names.begin()));
}

// Configures a read-only loop device that frees itself after its last use. Before LOOP_CONFIGURE
// (Linux 5.8) in two steps.
int configure_loop(int device, int image, const std::string& name) {
  loop_config config{};
  config.fd = static_cast<std::uint32_t>(image);
  config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
  auto* const shown = reinterpret_cast<char*>(config.info.lo_file_name);
  name.copy(shown, sizeof config.info.lo_file_name - 1);
  if (::ioctl(device, LOOP_CONFIGURE, &config) == 0) return 0;
  if (errno != EINVAL && errno != ENOTTY) return errno;
  if (::ioctl(device, LOOP_SET_FD, image) != 0) return errno;
  if (::ioctl(device, LOOP_SET_STATUS64, &config.info) == 0) return 0;
  const int cause = errno;
  ::ioctl(device, LOOP_CLR_FD, 0);
  return cause;
}

// Limits the device's read-ahead. A page fault in a mapped library reads around itself as far as
// the device reads ahead, which may be megabytes for a loop device, and a start faults all over its
// libraries. Sequential reads through squashfs do not gain from more.
void read_little_ahead(int device) { ::ioctl(device, BLKRASET, kLoopReadAheadBytes / 512); }

struct Loop {
  base::Fd device;  // keeps the device until the image is mounted
  std::string path;
};

// The kernel only tells which device is free; another process may take it first.
base::Result<Loop> take_loop(const std::string& image) {
  const base::Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return base::fail_errno("/dev/loop-control", errno);
  const base::Fd file = RR_TRY(base::open_regular(image));
  for (unsigned draw = 0; draw < kLoopDrawsMax; ++draw) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return base::fail_errno("no loop device is free", errno);
    Loop loop{{}, fmt::format("/dev/loop{}", number)};
    loop.device = base::Fd(::open(loop.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!loop.device) return base::fail_errno(loop.path, errno);
    const int cause = configure_loop(loop.device.get(), file.get(), image);
    if (cause == 0) return loop;
    if (cause != EBUSY && cause != EAGAIN) return base::fail_errno(loop.path, cause);
  }
  return base::fail(Errc::kLimit, "other processes take every free loop device");
}

base::Status mount_by_kernel(const SquashMountPlan& plan) {
  if (::geteuid() != 0) return base::fail(Errc::kPermission, "only root may do this");
  const Loop loop = RR_TRY(take_loop(plan.image));
  read_little_ahead(loop.device.get());
  if (::mount(loop.path.c_str(), plan.folder.c_str(), "squashfs", MS_RDONLY | MS_NOSUID | MS_NODEV,
              nullptr) != 0) {
    return base::fail_errno("mount of squashfs", errno);
  }
  return {};
}

// The last line that it wrote.
std::string last_line(int fd) {
  std::string text(kHelperWordsMax, '\0');
  const off_t end = std::max<off_t>(0, ::lseek(fd, 0, SEEK_END));
  const off_t from = std::max<off_t>(0, end - static_cast<off_t>(text.size()));
  const ssize_t got = ::pread(fd, text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  const std::string_view trimmed = base::trim(text);
  const std::size_t line = trimmed.rfind('\n');
  return base::printable(line == std::string_view::npos ? trimmed : trimmed.substr(line + 1));
}

// A connection's number is the minor device number of its file system.
void abort_connection(const Mount& mount) {
  const std::string door = fmt::format("/sys/fs/fuse/connections/{}/abort", mount.minor);
  const base::Fd file(::open(door.c_str(), O_WRONLY | O_CLOEXEC));
  if (file && ::write(file.get(), "1", 1) == 1) return;
  // If /sys/fs/fuse is not mounted, a forced unmount also aborts the connection first, whether or
  // not it then succeeds.
  if (::geteuid() == 0) ::umount2(mount.folder.c_str(), MNT_FORCE | UMOUNT_NOFOLLOW);
}

base::Status unmount_one(const Mount& mount, const std::string& path) {
  if (::umount2(mount.folder.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return {};
  if (errno == EINVAL || errno == ENOENT) return {};  // not mounted any more
  if (errno != EPERM || !is_fuse(mount)) {
    return base::fail_errno("cannot unmount " + mount.folder, errno);
  }
  const std::string helper = RR_TRY(find_helper({"fusermount3", "fusermount"}, path));
  const auto ended = RR_TRY(base::run_tool({helper, "-u", "-z", "--", mount.folder}, kUnmountMax));
  if (ended.status.success()) return {};
  return base::fail(Errc::kUnavailable, fmt::format("cannot unmount {}: {}", mount.folder,
                                                    base::printable(base::trim(ended.err))));
}

}  // namespace

// Runs in the foreground, so that its pid is known and sweeps for orphans spare it (strays.h).
class SquashMount::Helper {
 public:
  base::Status start(const std::string& program, const SquashMountPlan& plan) {
    words_ = base::Fd(::memfd_create("squashfuse", MFD_CLOEXEC));
    if (!words_) return base::fail_errno("cannot keep the output of " + program, errno);
    base::ChildOptions options;
    options.executable = program;
    options.argv = {program,    "-f",       "-o", "ro,nosuid,nodev,fsname=robustrun",
                    plan.image, plan.folder};
    options.environment = {"PATH=" + plan.path + ":" + kUsualPath};  // for its fusermount3
    options.descriptors = {-1, words_.get(), words_.get()};
    child_ = RR_TRY(base::Child::spawn(loop_.get_executor(), options,
                                       [this](base::ExitStatus status) { ended_ = status; }));
    spared_.is(child_->pid());
    return await_mount(program, plan);
  }

  // The file system is unmounted, so the helper ends in a moment.
  void end() {
    loop_.restart();
    if (!ended_) loop_.run_for(kUnmountMax);
    if (!ended_) static_cast<void>(child_->signal(SIGKILL));
  }

 private:
  base::Status await_mount(const std::string& program, const SquashMountPlan& plan) {
    const base::SystemClock clock;
    const base::Nanos until = clock.now() + plan.within;
    while (!is_mounted(plan.folder)) {
      const bool is_late = clock.now() >= until;
      if (is_late) {
        static_cast<void>(child_->signal(SIGKILL));
        return base::fail(Errc::kTimeout, fmt::format("{} did not mount it within {} ms", program,
                                                      plan.within.count()));
      }
      loop_.restart();
      loop_.run_for(kMountPoll);
      if (ended_) {
        return base::fail(Errc::kUnavailable,
                          fmt::format("{} ended ({}): {}", program, base::describe(*ended_),
                                      last_line(words_.get())));
      }
    }
    return {};
  }

  boost::asio::io_context loop_{1};
  base::Fd words_;
  base::SparedChild spared_;
  std::unique_ptr<base::Child> child_;
  std::optional<base::ExitStatus> ended_;
};

SquashMount::SquashMount(std::string folder, std::string path, std::unique_ptr<Helper> helper)
    : folder_(std::move(folder)), path_(std::move(path)), helper_(std::move(helper)) {}
SquashMount::SquashMount(SquashMount&&) noexcept = default;
SquashMount& SquashMount::operator=(SquashMount&&) noexcept = default;
SquashMount::~SquashMount() = default;

base::Result<SquashMount> SquashMount::make(const SquashMountPlan& plan) {
  RR_ASSERT(plan.folder.starts_with('/'));
  std::string by_kernel = "not tried";
  if (plan.by_kernel) {
    auto mounted = mount_by_kernel(plan);
    if (mounted) return SquashMount(plan.folder, plan.path, nullptr);
    by_kernel = std::move(mounted.error().what);
  }
  const std::string what = fmt::format("cannot mount {}: by the kernel: {}; by squashfuse: ",
                                       base::printable(plan.image), by_kernel);
  const auto program = find_helper({"squashfuse_ll", "squashfuse"}, plan.path);
  if (!program) {
    return base::fail(program.error().code,
                      what + program.error().what + "; install squashfuse on this machine");
  }
  if (::access("/dev/fuse", R_OK | W_OK) != 0) {
    return base::fail_errno(what + "/dev/fuse cannot be opened (a container must be given it)",
                            errno);
  }
  auto helper = std::make_unique<Helper>();
  if (auto started = helper->start(*program, plan); !started) {
    static_cast<void>(unmount_all(plan.folder, plan.path));
    return base::fail(started.error().code, what + started.error().what);
  }
  return SquashMount(plan.folder, plan.path, std::move(helper));
}

base::Status SquashMount::unmount() {
  RR_TRY(unmount_all(folder_, path_));
  if (helper_) helper_->end();
  return {};
}

base::Status unmount_all(const std::string& folder, const std::string& path) {
  abort_fuse_below(folder);
  base::Status result;
  for (const Mount& mount : mounts_below(mounts_now(), folder)) {
    if (auto done = unmount_one(mount, path); !done && result) result = std::move(done);
  }
  return result;
}

void abort_fuse_below(const std::string& folder) {
  for (const Mount& mount : mounts_below(mounts_now(), folder)) {
    if (is_fuse(mount)) abort_connection(mount);
  }
}

bool is_mounted(const std::string& folder) {
  const auto below = mounts_below(mounts_now(), folder);
  return std::ranges::any_of(below, [&](const Mount& mount) { return mount.folder == folder; });
}

}  // namespace robustrun::bootstrap
