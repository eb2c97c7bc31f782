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
  std::string sha256;  // required digest of the source's content, in hex; empty: any content
  std::string cache;  // the user's cache folder
  std::string mount;  // a folder; the image appears as MOUNT/image
  std::string socket;  // the path at which clients connect
  // The agent's mount folder (image/mount_folder.h). The server removes it, and ends, when its
  // owner is dead and idle_exit has passed without a client. Empty: none.
  std::string folder;
  std::string profile;  // file of the profile; empty: CACHE/hot/KEY.blocks
  // MiB per second at which blocks that are not in the profile are prefetched; 0: they are not.
  std::uint64_t origin_rate_mib = 32;
  std::uint64_t cache_max_gib = 0;  // for all blobs; 0: limited only by the disk
  std::chrono::seconds idle_exit{60};  // the server ends after this time without use; 0: never
  std::chrono::seconds retry_budget{60};  // a read that waits longer fails with EIO; not 0
  std::chrono::seconds record_limit{900};  // the recording ends after this time at the latest
  unsigned in_flight = kHotInFlight;  // concurrent requests of prefetching, 1 to kHotInFlightMax
  bool is_prefetching = true;
  std::chrono::seconds await_peers{};  // how long prefetching waits for a client that asks peers
};

[[nodiscard]] std::string serve_usage();
// `words`: the arguments after "serve". kInvalidArgument: an option is unknown or has a bad value,
// or a required option is missing.
[[nodiscard]] base::Result<ServeOptions> parse_serve_options(std::span<char* const> words);

}  // namespace robustrun::bootstrap
