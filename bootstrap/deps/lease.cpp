#include "bootstrap/deps/lease.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

using base::Errc;

constexpr std::string_view kLeaseHead = "robustrun-lease 1";
constexpr std::size_t kStatBytesMax = 4096;
// The start time, the 22nd word of /proc/PID/stat, counted after the name (proc_pid_stat(5)).
constexpr std::size_t kStartTimeWord = 19;

std::uint64_t start_of_process(std::int64_t pid) {
  const auto text = base::read_file(fmt::format("/proc/{}/stat", pid), kStatBytesMax);
  const auto end = text ? text->rfind(") ") : std::string::npos;
  if (end == std::string::npos) return 0;
  const auto words = base::split(std::string_view(*text).substr(end + 2), ' ');
  if (words.size() <= kStartTimeWord) return 0;
  return base::parse_int<std::uint64_t>(words[kStartTimeWord]).value_or(0);
}

bool take_word(std::string_view& line, std::string_view name) {
  if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') {
    return false;
  }
  line.remove_prefix(name.size() + 1);
  return true;
}

}  // namespace

std::string encode_lease(const LeaseHolder& holder) {
  return fmt::format("{}\nhost {}\npid {}\nstarted {}\nrun {}\ntoken {}\n", kLeaseHead,
                     base::printable(holder.host), holder.pid, holder.started,
                     base::printable(holder.run), holder.token);
}

base::Result<LeaseHolder> decode_lease(std::string_view text) {
  LeaseHolder holder;
  const auto lines = base::split(text, '\n');
  if (lines.size() != 7 || lines[0] != kLeaseHead || !lines[6].empty()) {
    return base::fail(Errc::kCorrupt, "not a lease");
  }
  std::string_view host = lines[1], pid = lines[2], started = lines[3], run = lines[4],
                   token = lines[5];
  if (!take_word(host, "host") || !take_word(pid, "pid") || !take_word(started, "started") ||
      !take_word(run, "run") || !take_word(token, "token")) {
    return base::fail(Errc::kCorrupt, "not a lease");
  }
  holder.host = host;
  holder.pid = RR_TRY(base::parse_int<std::int64_t>(pid));
  holder.started = RR_TRY(base::parse_int<std::uint64_t>(started));
  holder.run = run;
  holder.token = token;
  return holder;
}

LeaseHolder this_holder(std::string run, std::string token) {
  char name[256] = "";
  static_cast<void>(::gethostname(name, sizeof name - 1));
  return {name, ::getpid(), start_of_process(::getpid()), std::move(run), std::move(token)};
}

base::Result<bool> take_lease(const std::string& path, const LeaseHolder& holder) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file && errno == EEXIST) return false;
  if (!file) return base::fail_errno("cannot make " + path, errno);
  if (auto written = base::write_all(file.get(), encode_lease(holder)); !written) {
    ::unlink(path.c_str());
    return std::unexpected(written.error());
  }
  return true;
}

base::Status renew_lease(const std::string& path) {
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0) return {};
  return base::fail_errno("cannot renew " + path, errno);
}

void release_lease(const std::string& path, const LeaseHolder& holder) {
  const auto view = look_at_lease(path);
  if (view && view->holder.token == holder.token) ::unlink(path.c_str());
}

std::optional<LeaseView> look_at_lease(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
  LeaseView view;
  view.renewed_ns = status.st_mtim.tv_sec * kNanosPerSecond + status.st_mtim.tv_nsec;
  const auto text = base::read_file(path, kLeaseBytesMax);
  if (!text) return view;
  if (auto holder = decode_lease(*text)) view.holder = *std::move(holder);
  return view;
}

void break_lease(const std::string& path, const LeaseView& seen) {
  // Renamed before it is checked: between a check and an unlink, another process might create its
  // own lease there.
  const std::string aside = fmt::format("{}.stale.{}", path, ::getpid());
  if (std::rename(path.c_str(), aside.c_str()) != 0) return;
  const auto taken = look_at_lease(aside);
  if (taken && taken->holder != seen.holder) {
    static_cast<void>(::link(aside.c_str(), path.c_str()) == 0);
  }
  ::unlink(aside.c_str());
}

bool is_holder_dead(const LeaseHolder& holder, const std::string& own_host) {
  if (holder.host != own_host || holder.pid <= 0) return false;
  if (::access(fmt::format("/proc/{}", holder.pid).c_str(), F_OK) != 0) return true;
  const std::uint64_t started = start_of_process(holder.pid);
  return started != 0 && holder.started != 0 && started != holder.started;
}

bool LeaseWatch::look(const LeaseView& view, base::Nanos now) {
  if (!seen_ || view.holder.token != token_ || view.renewed_ns != renewed_ns_) {
    seen_ = true;
    token_ = view.holder.token;
    renewed_ns_ = view.renewed_ns;
    since_ = now;
    return false;
  }
  return now - since_ >= kLeaseStaleAfter;
}

}  // namespace robustrun::bootstrap
