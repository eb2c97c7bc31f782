#pragma once
// DeepSpeed's filters of a host list: "node1@node2:0,1@node[04-08]". "@" separates hosts; without
// slots behind a colon, "," does so too: "node1,node2".
//
// Names are those of the list, without user and port. A slot is a local rank, thus a device.
// Workers can be given the first devices of a host alone: a choice that is not 0, 1 … is refused.
//
// Pure. Errors are causes and go behind "cannot use …: ".

#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"

namespace robustrun::launcher {

// The hosts that the filter names, in the list's order; with slots, so many workers each.
[[nodiscard]] base::Result<std::vector<Host>> include_hosts(const std::vector<Host>& hosts,
                                                            std::string_view filter);
// The list without the hosts that the filter names, or without those slots of them.
[[nodiscard]] base::Result<std::vector<Host>> exclude_hosts(const std::vector<Host>& hosts,
                                                            std::string_view filter);

}  // namespace robustrun::launcher
