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
  std::string sha256;  // required digest of its content, in hex; empty: any content
  std::string cache;  // the user's cache folder
  std::string mount;  // a folder; the image appears as MOUNT/image
  std::string socket;  // the path at which clients connect
  std::string folder;  // the agent's folder for its mounts; empty: none
  std::string profile;  // empty: CACHE/hot/KEY.blocks
  std::uint64_t origin_rate_mib = 32;  // per second, to prefetch blocks not in the profile; 0: none
  std::uint64_t cache_max_gib = 0;  // for all blobs; 0: limited only by the disk
  std::chrono::seconds idle_exit{60};  // the server ends after this time without use; 0: never
  std::chrono::seconds retry_budget{60};  // a read that waits longer fails with EIO; not 0
  std::chrono::seconds record_limit{900};  // the recording ends after this time at the latest
  unsigned in_flight = kHotInFlight;  // concurrent requests of prefetching, 1 to kHotInFlightMax
  bool is_prefetching = true;
  std::chrono::seconds await_peers{};  // how long prefetching waits for a client that asks peers
};

[[nodiscard]] std::string serve_usage();
// `words`: the arguments after "serve". kInvalidArgument: an option is unknown, has a bad value, or
// is required and missing.
[[nodiscard]] base::Result<ServeOptions> parse_serve_options(std::span<char* const> words);

}  // namespace robustrun::bootstrap
