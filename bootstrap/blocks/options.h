#pragma once
// The command line of robustrun-blocks. Pure.

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "bootstrap/blocks/limits.h"

namespace robustrun::bootstrap {

struct ServeOptions {
  std::string source;  // a path or an http(s) URL
  std::string sha256;  // of its content, in hex; empty: whatever it is
  std::string cache;
  std::string mount;
  std::string socket;
  std::string folder;  // of an agent, with all that it mounts; empty: of nobody
  std::string profile;  // empty: CACHE/hot/KEY.blocks
  std::uint64_t origin_rate_mib = 32;  // per second, of blocks that no profile names; 0: none
  std::uint64_t cache_max_gib = 0;  // of all blobs; 0: as long as there is space
  std::chrono::seconds idle_exit{60};
  std::chrono::seconds retry_budget{60};
  std::chrono::seconds record_limit{900};
  unsigned in_flight = kHotInFlight;
  bool is_prefetching = true;
  std::chrono::seconds await_peers{};  // reading ahead waits for somebody who asks them
};

[[nodiscard]] std::string serve_usage();
// `words`: what stands behind "serve". kInvalidArgument.
[[nodiscard]] base::Result<ServeOptions> parse_serve_options(std::span<char* const> words);

}  // namespace robustrun::bootstrap
