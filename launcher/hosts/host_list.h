#pragma once
// Hosts as people write them: "node[01-16,20],gpu-[a,b]x,ada@login:2222,[::1]:22,10.0.0.[1-4]".
// What scontrol and sinfo print as a node list is read as well.
//
//   list  = item *(("," / blanks) item)
//   item  = [user "@"] name [":" port]
//   name  = as in base/core/name_list.h; or an IPv6 address in brackets
//
// Pure. Errors are causes that name the character, from 1, and go behind "cannot use …: ".

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"

namespace robustrun::launcher {

// At least one host, in the order written, none named twice (by name and port).
[[nodiscard]] base::Result<std::vector<Host>> parse_host_list(std::string_view text);

// The same for a list that may be part of a larger whole: duplicates are left to the caller.
[[nodiscard]] base::Result<std::vector<Host>> expand_host_list(std::string_view text);
// kConflict for the first host that is there twice; the users make no difference.
[[nodiscard]] base::Status check_distinct(const std::vector<Host>& hosts);

// node2 before node10; equal names by port.
void sort_naturally(std::vector<Host>& hosts);

// "ada@node1:2222": as it could stand in a list.
[[nodiscard]] std::string to_text(const Host& host);

}  // namespace robustrun::launcher
