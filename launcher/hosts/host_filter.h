#pragma once
// DeepSpeed's filters of a host list: "node1@node2:0,1@node[04-08]". "@" separates hosts. If no
// host has slots (after a colon), "," separates hosts, too: "node1,node2".
//
// Names are those of the list, without user and port. A slot is a local rank, and so a device.
// Workers can only get the first devices of a host: any choice but 0, 1 … is refused.
//
// Pure. An error is only the cause; the caller puts "cannot use …: " before it.

#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"

namespace robustrun::launcher {

// The hosts that `filter` names, in the list's order. A host with slots in `filter` gets as many
// workers.
[[nodiscard]] base::Result<std::vector<Host>> include_hosts(const std::vector<Host>& hosts,
                                                            std::string_view filter);
// The list without the hosts, or slots of hosts, that `filter` names.
[[nodiscard]] base::Result<std::vector<Host>> exclude_hosts(const std::vector<Host>& hosts,
                                                            std::string_view filter);

}  // namespace robustrun::launcher
