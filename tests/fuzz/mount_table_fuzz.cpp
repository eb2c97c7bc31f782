// The kernel's table of mounts, the head of a squashfs image, and a mount that a user asks for: any
// bytes become that or an error. What is said to lie below a folder does.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/image/container_command.h"
#include "bootstrap/image/mount_table.h"
#include "bootstrap/image/squash_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto mounts = bootstrap::parse_mounts(bytes);
  if (!mounts.empty()) {
    const std::string& folder = mounts.front().folder;
    for (const bootstrap::Mount& mount : bootstrap::mounts_below(mounts, folder)) {
      if (!mount.folder.starts_with(folder)) std::abort();
    }
  }
  if (const auto head = bootstrap::read_squash_head(bytes, size)) {
    if (head->bytes > size) std::abort();
  }
  if (const auto mount = agent::parse_container_mount(std::string(bytes))) {
    if (!mount->source.starts_with('/') || mount->target == "/") std::abort();
  }
  return 0;
}
