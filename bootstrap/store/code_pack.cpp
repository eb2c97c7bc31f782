#include "bootstrap/store/code_pack.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <set>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/limits.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

using base::Errc;
using base::Result;
using base::Status;

constexpr std::string_view kPackMagic = "robustrun-code 1 ";
constexpr std::size_t kPackLengthBytes = 8;  // of a file, before its bytes
constexpr std::size_t kPackHeadMax = 64;
constexpr unsigned kPackModeBits = 0700;
constexpr unsigned kPackFolderMode = 0700;

std::unexpected<base::Error> bad_pack(std::string_view why) {
  return base::fail(Errc::kProtocol, fmt::format("invalid code pack: {}", why));
}

// Whether this is a plain relative path that cannot lead out of the root, from a folder `depth`
// below it. ".." is allowed only at the beginning: after a name that is a link it leads elsewhere.
bool stays_below(std::string_view path, std::size_t depth, bool may_go_up) {
  if (path.empty() || path.size() > kPathBytesMax || path.front() == '/') return false;
  bool is_name_seen = false;
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty() || part == ".") {
      if (!may_go_up) return false;
    } else if (part == "..") {
      if (!may_go_up || depth == 0 || is_name_seen) return false;
      --depth;
    } else {
      is_name_seen = true;
    }
  }
  return std::ranges::none_of(path, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::size_t folders_above(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::count(path, '/'));
}

// "MODE SHA256 PATH"; the sum is used when the folder is checked later.
std::optional<PackedFile> file_of_line(std::string_view line) {
  const std::size_t mode_end = line.find(' ');
  if (mode_end == std::string_view::npos) return {};
  const std::size_t sum_end = line.find(' ', mode_end + 1);
  if (sum_end == std::string_view::npos) return {};
  PackedFile file;
  const char* end = line.data() + mode_end;
  const auto read = std::from_chars(line.data(), end, file.mode, 8);
  if (read.ec != std::errc() || read.ptr != end || (file.mode & ~kPackModeBits) != 0) return {};
  file.path = line.substr(sum_end + 1);
  return stays_below(file.path, 0, false) ? std::optional(file) : std::nullopt;
}

// "TARGET NUL PATH"
std::optional<PackedFile> link_of_line(std::string_view line) {
  const std::size_t end = line.find('\0');
  if (end == std::string_view::npos) return {};
  PackedFile link;
  link.target = line.substr(0, end);
  link.path = line.substr(end + 1);
  const bool is_safe =
      stays_below(link.path, 0, false) && stays_below(link.target, folders_above(link.path), true);
  return is_safe ? std::optional(link) : std::nullopt;
}

Result<std::string_view> manifest_of(std::string_view pack) {
  if (!pack.starts_with(kPackMagic)) return bad_pack("its first line is wrong");
  const std::size_t end = pack.substr(0, kPackHeadMax).find('\n');
  if (end == std::string_view::npos) return bad_pack("its first line is too long");
  std::uint64_t bytes = 0;
  const char* last = pack.data() + end;
  const auto read = std::from_chars(pack.data() + kPackMagic.size(), last, bytes);
  if (read.ec != std::errc() || read.ptr != last || bytes > pack.size() - end - 1) {
    return bad_pack("it is cut");
  }
  return pack.substr(end + 1, bytes);
}

// No name may occur twice, and every parent of a name must be a folder.
Status check_names(const std::vector<PackedFile>& files) {
  std::set<std::string_view> names;
  for (const PackedFile& file : files) {
    if (!names.insert(file.path).second) return bad_pack("a name occurs twice");
  }
  for (const PackedFile& file : files) {
    for (std::size_t at = file.path.find('/'); at != std::string_view::npos;
         at = file.path.find('/', at + 1)) {
      if (names.contains(file.path.substr(0, at))) return bad_pack("a file is used as a folder");
    }
  }
  return {};
}

// Each file's bytes follow their length, in the manifest's order.
Status take_bytes(std::string_view rest, std::vector<PackedFile>& files) {
  for (PackedFile& file : files) {
    if (!file.target.empty()) continue;
    if (rest.size() < kPackLengthBytes) return bad_pack("it is cut");
    std::uint64_t bytes = 0;
    for (std::size_t i = kPackLengthBytes; i-- > 0;) {
      bytes = bytes << 8U | static_cast<unsigned char>(rest[i]);
    }
    rest.remove_prefix(kPackLengthBytes);
    if (bytes > rest.size()) return bad_pack("it is cut");
    file.bytes = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  return rest.empty() ? Status() : bad_pack("there are bytes after its end");
}

Status make_folders(const std::string& root, std::string_view path, std::set<std::string>& made) {
  for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    std::string folder = root + "/" + std::string(path.substr(0, at));
    if (made.contains(folder)) continue;
    if (::mkdir(folder.c_str(), kPackFolderMode) != 0) {
      return base::fail_errno("cannot make the folder " + folder, errno);
    }
    made.insert(std::move(folder));
  }
  return {};
}

Status write_packed(const std::string& path, const PackedFile& file) {
  const base::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           static_cast<mode_t>(file.mode | 0200U)));
  if (!fd) return base::fail_errno("cannot make " + path, errno);
  RR_TRY(base::write_all(fd.get(), file.bytes));
  if (::fchmod(fd.get(), static_cast<mode_t>(file.mode)) == 0) return {};
  return base::fail_errno("cannot make " + path, errno);
}

}  // namespace

Result<std::string> pack_code(const std::string& folder, std::string_view manifest) {
  std::string pack = fmt::format("{}{}\n{}", kPackMagic, manifest.size(), manifest);
  for (const std::string_view line : base::split(manifest, '\n')) {
    if (line.starts_with("l ") && !link_of_line(line.substr(2))) {
      const std::size_t end = std::min(line.find('\0'), line.size() - 1);
      return base::fail(Errc::kInvalidArgument,
                        fmt::format("cannot send the link {} -> {}: '..' follows a name; "
                                    "write the target without that",
                                    base::printable(line.substr(end + 1)),
                                    base::printable(line.substr(2, end - 2))));
    }
    if (!line.starts_with("f ")) continue;
    const auto file = file_of_line(line.substr(2));
    if (!file) return bad_pack("its manifest is damaged");
    const std::string bytes =
        RR_TRY(base::read_file(folder + "/" + std::string(file->path), base::kCodeBytesMax));
    for (std::size_t i = 0; i < kPackLengthBytes; ++i) {
      pack += static_cast<char>((std::uint64_t{bytes.size()} >> (8 * i)) & 0xffU);
    }
    pack += bytes;
  }
  return pack;
}

Result<std::vector<PackedFile>> parse_code_pack(std::string_view pack) {
  const std::string_view manifest = RR_TRY(manifest_of(pack));
  std::vector<PackedFile> files;
  for (const std::string_view line : base::split(manifest, '\n')) {
    if (line.empty()) continue;
    std::optional<PackedFile> file;
    if (line.starts_with("f ")) file = file_of_line(line.substr(2));
    if (line.starts_with("l ")) file = link_of_line(line.substr(2));
    if (!file) return bad_pack("it names a path that must not be written");
    if (files.size() == base::kCodeFilesMax) return bad_pack("it has too many files");
    files.push_back(*file);
  }
  RR_TRY(check_names(files));
  const auto head = static_cast<std::size_t>(manifest.data() - pack.data());
  RR_TRY(take_bytes(pack.substr(head + manifest.size()), files));
  return files;
}

Result<std::string> code_manifest(std::string_view pack) {
  return std::string(RR_TRY(manifest_of(pack)));
}

Status unpack_code(const std::vector<PackedFile>& files, const std::string& folder) {
  if (::mkdir(folder.c_str(), kPackFolderMode) != 0) {
    return base::fail_errno("cannot make the folder " + folder, errno);
  }
  std::set<std::string> made;
  for (const PackedFile& file : files) {
    RR_TRY(make_folders(folder, file.path, made));
    if (file.target.empty()) RR_TRY(write_packed(folder + "/" + std::string(file.path), file));
  }
  // Links come last, so that no file is written through a link.
  for (const PackedFile& file : files) {
    if (file.target.empty()) continue;
    const std::string path = folder + "/" + std::string(file.path);
    if (::symlink(std::string(file.target).c_str(), path.c_str()) != 0) {
      return base::fail_errno("cannot make the link " + path, errno);
    }
  }
  return {};
}

}  // namespace robustrun::bootstrap
