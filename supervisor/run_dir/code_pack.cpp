#include "supervisor/run_dir/code_pack.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/io/fd.h"
#include "wire/messages/limits.h"

namespace robustrun::supervisor {

std::string code_pack_file(const std::string& run_directory) {
  return run_directory + "/code.pack";
}

base::Result<std::string> read_code_block(const std::string& path, std::uint64_t bytes,
                                          std::uint64_t block) {
  constexpr std::uint64_t kBytes = wire::kBlockBytesMax;
  if (block >= (bytes + kBytes - 1) / kBytes) {
    return base::fail(base::Errc::kInvalidArgument, fmt::format("{} has no block {}", path, block));
  }
  const base::Fd file = RR_TRY(base::open_regular(path));
  std::string found(std::min(kBytes, bytes - block * kBytes), '\0');
  std::size_t have = 0;
  while (have < found.size()) {
    const ssize_t got = ::pread(file.get(), found.data() + have, found.size() - have,
                                static_cast<off_t>(block * kBytes + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("cannot read " + path, errno);
    if (got == 0) return base::fail(base::Errc::kConflict, path + " has become shorter");
    have += static_cast<std::size_t>(got);
  }
  return found;
}

}  // namespace robustrun::supervisor
