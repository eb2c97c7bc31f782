#pragma once
// What this machine's kernel reports about space and limits, for a preflight check.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/node_facts.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Space of the file system that holds `path`, or its nearest existing parent folder. Blocks as long
// as the file system does.
[[nodiscard]] base::Space space_at(const std::string& path);

[[nodiscard]] base::UserLimits user_limits();

// Number of InfiniBand and RoCE devices. `root` is put before /sys.
[[nodiscard]] std::uint32_t rdma_devices(const std::string& root);

// The folder that workers write to most: their log folder or, without one, their working directory.
[[nodiscard]] std::string busiest_folder(const wire::WorkerTemplate& workers);

// Numeric addresses of the peers whose connections to `port` are half open (state SYN_RECV): the
// peer's SYN arrived, and its acknowledgement of our answer did not. `tables`: text of
// /proc/net/tcp or tcp6. At most kHalfOpenMax. Pure.
[[nodiscard]] std::vector<std::string> half_open_peers(std::string_view tables, std::uint16_t port);

}  // namespace robustrun::agent
