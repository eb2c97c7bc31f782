#include "bootstrap/image/mount_table.h"

#include <algorithm>

#include "base/core/text.h"

namespace robustrun::bootstrap {
namespace {

// Indices of a line's fields before the optional ones; type and source follow the "-".
constexpr std::size_t kDeviceField = 2;
constexpr std::size_t kFolderField = 4;
constexpr std::size_t kFirstOptionalField = 6;
constexpr std::size_t kOctalDigits = 3;

bool is_octal(std::string_view digits) {
  return digits.size() == kOctalDigits && digits[0] <= '3' &&
         std::ranges::all_of(digits, [](char digit) { return digit >= '0' && digit <= '7'; });
}

bool read_mount(std::string_view line, Mount& mount) {
  const auto fields = base::split(line, ' ');
  const auto dash = std::find(
      fields.begin() + static_cast<std::ptrdiff_t>(std::min(fields.size(), kFirstOptionalField)),
      fields.end(), "-");
  if (fields.end() - dash < 3) return false;
  const auto device = base::split(fields[kDeviceField], ':');
  if (device.size() != 2) return false;
  const auto major = base::parse_int<std::uint32_t>(device[0]);
  const auto minor = base::parse_int<std::uint32_t>(device[1]);
  if (!major || !minor) return false;
  mount = {*major, *minor, unescaped_mount_path(fields[kFolderField]), std::string(dash[1]),
           unescaped_mount_path(dash[2])};
  return true;
}

}  // namespace

std::string unescaped_mount_path(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, kOctalDigits);
    if (text[i] != '\\' || !is_octal(digits)) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
    i += kOctalDigits;
  }
  return out;
}

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string_view line : base::split(mountinfo, '\n')) {
    Mount mount;
    if (read_mount(line, mount)) mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<Mount> mounts_below(const std::vector<Mount>& mounts, std::string_view folder) {
  std::vector<Mount> below;
  for (const Mount& mount : mounts) {
    const std::string_view at = mount.folder;
    if (at.starts_with(folder) && (at.size() == folder.size() || at[folder.size()] == '/')) {
      below.insert(below.begin(), mount);
    }
  }
  return below;
}

bool is_fuse(const Mount& mount) { return mount.type == "fuse" || mount.type.starts_with("fuse."); }

}  // namespace robustrun::bootstrap
